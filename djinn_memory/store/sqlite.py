"""Opens SQLite databases: pragmas, forward migrations, transactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

from djinn_memory.errors import Refused, Unavailable

BUSY_MS = 10_000

Row = tuple[Any, ...]


def connect(
    path: Path,
    schema: Path,
    *,
    write: bool = True,
    prepare: Callable[[apsw.Connection], None] | None = None,
) -> apsw.Connection:
    """Open `path`, made and migrated to the newest numbered script of `schema` when writing.

    `prepare` gives the connection what the scripts and later queries need. Reading works on a disk
    that cannot be written. Raises `Unavailable` when the file is missing, unreadable or broken and
    `Refused` when a newer djinn made it, or it is a link: a cloned one may lead anywhere.
    """
    if write and path.is_symlink():
        raise Refused(f"{path} is a link and may lead anywhere; remove it, then run `djinn index`")
    with _explained(path):
        connection = _open(path, write)
        if prepare:
            prepare(connection)
        _migrate(connection, path, schema, write)
    return connection


class Broken(Unavailable):
    """The file is no database, or a damaged one."""


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """SQLite's errors as ones that say what to do."""
    try:
        yield
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError):
        raise Unavailable(
            f"{path} cannot be opened; check that it exists and its permissions"
        ) from None
    except (apsw.NotADBError, apsw.CorruptError):
        raise Broken(f"{path} is damaged; move it away and run `djinn index`") from None
    except (apsw.FullError, apsw.IOError):
        raise Unavailable(f"{path} cannot be written: the disk is full or failing") from None
    except apsw.BusyError:
        raise Unavailable(f"another djinn process is writing {path}; try again") from None


def damaged(path: Path) -> bool:
    """Whether SQLite finds the file unreadable or its pages in disorder."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        found = connection.execute("pragma quick_check(1)").get
    except (apsw.NotADBError, apsw.CorruptError):
        return True
    except apsw.Error:
        return False
    return bool(found != "ok")


def _open(path: Path, write: bool) -> apsw.Connection:
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("pragma journal_mode = wal; pragma synchronous = normal")
    else:
        if not path.is_file():
            raise apsw.CantOpenError(str(path))
        try:
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            connection.set_busy_timeout(BUSY_MS)
            connection.execute("select count(*) from sqlite_schema").get  # noqa: B018
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # WAL wants to write beside the file even to read; on a read-only disk nobody else does.
            uri = f"file:{_quoted(path)}?immutable=1"
            connection = apsw.Connection(
                uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
    connection.execute("pragma foreign_keys = on; pragma temp_store = memory")
    return connection


def peek(path: Path) -> apsw.Connection:
    """Open a database for a moment's reading: no file is made beside it, no version looked at."""
    # In the WAL mode even a reader makes files, unless told that nobody writes.
    still = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    uri = f"file:{_quoted(path)}?mode=ro{still}"
    return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _quoted(path: Path) -> str:
    return re.sub(r"[?#%]", lambda match: f"%{ord(match[0]):02x}", str(path.resolve()))


def _migrate(connection: apsw.Connection, path: Path, schema: Path, write: bool) -> None:
    scripts = {int(file.stem): file for file in schema.glob("[0-9]*.sql")}
    newest = max(scripts)
    version = connection.pragma("user_version")
    if version > newest:
        raise Refused(f"{path} was made by a newer djinn (version {version}); update djinn")
    if not write:
        if version < newest:
            raise Unavailable(f"{path} is of an older version; run `djinn index` to renew it")
        return
    while version < newest:
        with transaction(connection):
            # Another process may have migrated while this one waited for the lock.
            version = connection.pragma("user_version")
            if version < newest:
                connection.execute(scripts[version + 1].read_text(encoding="utf-8"))
                connection.pragma("user_version", version + 1)
                version += 1


def rows(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> list[Row]:
    """All rows of a query; what the columns hold is known where the query stands."""
    return connection.execute(sql, tuple(values)).fetchall()


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """All or nothing, with the write lock taken at the start so that it cannot fail half way."""
    with _explained(connection.filename):
        connection.execute("begin immediate")
        try:
            yield
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Every query inside sees the same state, whatever other processes commit meanwhile."""
    connection.execute("begin")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


def load_vectors(connection: apsw.Connection) -> None:
    """Make sqlite-vec's `vec0` tables known to this connection."""
    # Importing the package brings the standard library's sqlite3 with it: 10 ms for a file name.
    found = find_spec("sqlite_vec")
    if not found or not found.origin:
        raise Unavailable("the package sqlite-vec is missing; install djinn-memory again")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(str(Path(found.origin).parent / "vec0"))
    finally:
        connection.enable_load_extension(False)
