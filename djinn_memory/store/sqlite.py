"""Opens SQLite databases: whose they are, pragmas, forward migrations, transactions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from djinn_memory.errors import Busy, Refused, Unavailable
from djinn_memory.store.busy import BREATH_SECONDS, insist, patience

Row = tuple[Any, ...]

Connection = apsw.Connection
DatabaseError = apsw.Error


class Schema(Struct, frozen=True):
    """A kind of database of ours."""

    scripts: Path
    """The folder of its numbered scripts, each of which leads to the next version."""
    application: int
    """What `pragma application_id` says in it."""
    marked: int
    """The version from which on it says so; those before say 0 and are known by `tables`."""
    tables: frozenset[str]
    """Some that it has in every version."""
    durable: bool = False
    """Whether what is committed survives a power cut, and not only the end of the process."""

    @property
    def newest(self) -> int:
        """The version that the last script leads to."""
        return max(self.numbered)

    @property
    def numbered(self) -> dict[int, Path]:
        """The scripts by the version that they lead to."""
        return {int(file.stem): file for file in self.scripts.glob("[0-9]*.sql")}


class DamagedDatabase(Unavailable):
    """The file is no database, or a damaged one."""


class DiskFull(Unavailable):
    """The disk has no room for what is to be written, or fails."""


class ForeignDatabase(DamagedDatabase):
    """The file is a database, but none of ours, or one of another kind."""


def connect(
    path: Path,
    schema: Schema,
    *,
    write: bool = True,
    prepare: Callable[[apsw.Connection], None] | None = None,
) -> apsw.Connection:
    """Open `path`, made and migrated to the newest version of `schema` when writing.

    `prepare` gives the connection what the scripts and later queries need. Reading works on a disk
    that cannot be written. Raises `Unavailable` when the file is missing or unreadable,
    `DamagedDatabase` when it is damaged or another program's, in which nothing is ever written,
    and `Refused` when a newer djinn made it, or it is a link: a cloned one may lead anywhere.
    """
    if write and path.is_symlink():
        raise Refused(f"{path} is a link and may lead anywhere; remove it, then run `djinn index`")
    if _no_file(path):
        raise DamagedDatabase(f"{path} is no file; run `djinn doctor --fix`")
    with explained(path):
        connection = _open(path, schema, write)
        try:
            if prepare:
                prepare(connection)
            _migrate(connection, path, schema, write)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """SQLite's errors as ones that say what to do."""
    try:
        yield
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError):
        raise Unavailable(
            f"{path} cannot be opened; check that it exists and its permissions"
        ) from None
    except (apsw.NotADBError, apsw.CorruptError):
        raise DamagedDatabase(f"{path} is damaged; run `djinn doctor --fix`") from None
    except (apsw.FullError, apsw.IOError):
        raise DiskFull(f"{path} cannot be written: the disk is full or failing") from None
    except apsw.BusyError:
        raise Busy(f"another djinn process is writing {path}; try again") from None


def fault(path: Path, schema: Schema, *, thorough: bool = False) -> str | None:
    """What makes a file useless as a database of `schema`; None where nothing is seen.

    A missing file, a newer version or a lock is no fault. `thorough` also holds the indexes of
    the file against its tables. No file is made beside it.
    """
    if _no_file(path):
        return "is no file"
    log = Path(f"{path}-wal")
    still = not log.exists()
    found = _fault(path, schema, thorough, still)
    # Somebody began to write while it was read as if nobody did.
    return _fault(path, schema, thorough, False) if found and still and log.exists() else found


def _no_file(path: Path) -> bool:
    """Whether something else lies there; to open a FIFO would wait for a writer for ever."""
    return path.exists() and not path.is_file()


def _fault(path: Path, schema: Schema, thorough: bool, still: bool) -> str | None:
    try:
        with closing(peek(path) if still else _reader(path)) as connection:
            try:
                _recognise(connection, path, schema)
            except Refused:
                return None
            except ForeignDatabase:
                return "is not of djinn's making"
            check = "integrity_check(1)" if thorough else "quick_check(1)"
            found = str(connection.execute(f"pragma {check}").get)
            if found != "ok":
                return f"is damaged ({' '.join(found.split())})"
            lacking = _lacking(connection, schema)
            return f"is damaged (it lacks {lacking})" if lacking else None
    except (apsw.NotADBError, apsw.CorruptError):
        return "is damaged"
    except apsw.Error:
        return None


def newer_database(path: Path, schema: Schema) -> int | None:
    """The version of a database that a newer djinn made; None for any other file."""
    try:
        with closing(peek(path)) as connection:
            version: int = connection.pragma("user_version")
            ours = connection.pragma("application_id") == schema.application
    except apsw.Error:
        return None
    return version if ours and version > schema.newest else None


def _lacking(connection: apsw.Connection, schema: Schema) -> str | None:
    """A table or column that the scripts make and the file does not have."""
    version = connection.pragma("user_version")
    with closing(apsw.Connection(":memory:")) as model:
        for number, script in sorted(schema.numbered.items()):
            if number <= version:
                model.execute(script.read_text(encoding="utf-8"))
        wanted = _columns(model)
    return min(wanted - _columns(connection), default=None)


def _columns(connection: apsw.Connection) -> set[str]:
    found = connection.execute(
        "select s.name || '.' || i.name from sqlite_schema as s, pragma_table_info(s.name) as i "
        "where s.type = 'table' and s.sql not like 'create virtual table%'"
    )
    return {name for (name,) in found}


def _open(path: Path, schema: Schema, write: bool) -> apsw.Connection:
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(str(path))
        connection.set_busy_handler(patience())
    else:
        connection = _reader(path)
    try:
        # First of all: even the journal's mode is written into the file.
        insist(lambda: _recognise(connection, path, schema))
        if write:
            insist(lambda: connection.pragma("journal_mode", "wal"))
            connection.pragma("synchronous", "full" if schema.durable else "normal")
        connection.execute("pragma foreign_keys = on; pragma temp_store = memory")
    except BaseException:
        connection.close()
        raise
    return connection


def _reader(path: Path) -> apsw.Connection:
    if not path.is_file():
        raise apsw.CantOpenError(str(path))
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        _await(connection)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # WAL wants to write beside the file even to read; on a read-only disk nobody else does.
        uri = f"file:{_quoted(path)}?immutable=1"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    return connection


def _recognise(connection: apsw.Connection, path: Path, schema: Schema) -> None:
    """Raise `ForeignDatabase` for another program's file, `Refused` for a newer djinn's."""
    with snapshot(connection):  # Another process may be making it.
        application = connection.pragma("application_id")
        version = connection.pragma("user_version")
        tables = {name for (name,) in connection.execute("select name from sqlite_schema")}
    ours = application == schema.application
    if not (tables or application or version):
        return
    if ours and version > schema.newest:
        raise Refused(f"{path} was made by a newer djinn (version {version}); update djinn")
    if schema.tables <= tables and (ours or (not application and 0 < version < schema.marked)):
        return
    raise ForeignDatabase(f"{path} is not of djinn's making; run `djinn doctor --fix`")


def peek(path: Path) -> apsw.Connection:
    """Open a database for a moment's reading: no file is made beside it, no version looked at."""
    if _no_file(path):
        raise apsw.CantOpenError(str(path))
    # In the WAL mode even a reader makes files, unless told that nobody writes.
    still = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    uri = f"file:{_quoted(path)}?mode=ro{still}"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        _await(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _await(connection: apsw.Connection) -> None:
    """Wait for others, who hold all of a file as they recover it, or are the last to close it."""
    connection.set_busy_handler(patience())
    insist(lambda: connection.execute("select count(*) from sqlite_schema").get)


def _quoted(path: Path) -> str:
    return re.sub(r"[?#%]", lambda match: f"%{ord(match[0]):02x}", str(path.resolve()))


def _migrate(connection: apsw.Connection, path: Path, schema: Schema, write: bool) -> None:
    scripts, newest = schema.numbered, schema.newest
    version = connection.pragma("user_version")
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
    with explained(connection.filename):
        connection.execute("begin immediate")
        began = time.monotonic()
        try:
            yield
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
    if time.monotonic() - began > 10 * BREATH_SECONDS:
        time.sleep(BREATH_SECONDS)


@contextmanager
def hasty(connection: apsw.Connection, seconds: float) -> Iterator[None]:
    """Wait only so long for other writers inside."""
    connection.set_busy_handler(patience(seconds))
    try:
        with explained(connection.filename):
            yield
    finally:
        connection.set_busy_handler(patience())


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Every query inside sees the same state, whatever other processes commit meanwhile.

    Inside a transaction or another snapshot it adds nothing.
    """
    if connection.in_transaction:
        yield
        return
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
