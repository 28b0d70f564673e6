"""Opens SQLite databases: recognition, pragmas, forward migrations, transactions, errors."""

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

from djinn_memory.errors import Busy, DjinnError, Refused, Remedy, Unavailable
from djinn_memory.store.busy import BREATH_SECONDS, insist, patience

Row = tuple[Any, ...]

Connection = apsw.Connection
DatabaseError = apsw.Error

REPAIR = Remedy("doctor", {"fix": True})
"""The remedy for a damaged database."""


class Schema(Struct, frozen=True):
    """A kind of database that djinn makes."""

    scripts: Path
    """The folder of its numbered scripts. Each script leads to the next version."""
    application: int
    """Its `pragma application_id`."""
    marked: int
    """The first version with that id. Earlier versions have 0 and are recognised by `tables`."""
    tables: frozenset[str]
    """Tables that it has in every version."""
    durable: bool = False
    """Whether a commit survives a power cut, and not only the end of the process."""

    @property
    def newest(self) -> int:
        """The version that the last script leads to."""
        return max(self.numbered)

    @property
    def numbered(self) -> dict[int, Path]:
        """The scripts, by the version that they lead to."""
        return {int(file.stem): file for file in self.scripts.glob("[0-9]*.sql")}


class DamagedDatabase(Unavailable):
    """The file is not a database, or a damaged one."""


class DiskFull(Unavailable):
    """The disk is full or failing."""


class ForeignDatabase(DamagedDatabase):
    """The file is a database of another program, or of another kind."""


def connect(
    path: Path,
    schema: Schema,
    *,
    write: bool = True,
    prepare: Callable[[apsw.Connection], None] | None = None,
) -> apsw.Connection:
    """Open `path`. With `write` the file is created and migrated to the newest version.

    `prepare` sets up the connection for the scripts and later queries. Reading works on a disk that
    cannot be written. Raises `Unavailable` when the file is missing or unreadable,
    `DamagedDatabase` when it is damaged or another program's, which is never written to, and
    `Refused` when a newer djinn made it, or it is a link, which in a cloned home may lead anywhere.
    """
    if write and path.is_symlink():
        raise Refused(f"{path} is a link and may lead anywhere; remove it first", Remedy("index"))
    if _no_file(path):
        raise DamagedDatabase(f"{path} is not a file", REPAIR)
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


def connect_or_read(
    connect: Callable[[bool], apsw.Connection], path: Path, missing: DjinnError
) -> apsw.Connection:
    """Open a database by `connect(write)`: for writing, or for reading on a read-only disk.

    Raises `missing` when the file does not exist and cannot be created.
    """
    try:
        return connect(True)
    except (DamagedDatabase, DiskFull):
        raise
    except (Unavailable, OSError) as error:
        if not path.exists():
            raise missing from None
        try:
            return connect(False)
        except Unavailable:
            # A database of an older version cannot be read before it was migrated.
            raise error from None


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn SQLite's errors into errors with a remedy."""
    try:
        yield
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError):
        raise Unavailable(
            f"{path} cannot be opened; check that it exists and its permissions"
        ) from None
    except (apsw.NotADBError, apsw.CorruptError):
        raise DamagedDatabase(f"{path} is damaged", REPAIR) from None
    except (apsw.FullError, apsw.IOError):
        raise DiskFull(f"{path} cannot be written: the disk is full or failing") from None
    except apsw.BusyError:
        raise Busy(f"another djinn process is writing {path}; try again") from None


def fault(path: Path, schema: Schema, *, thorough: bool = False) -> str | None:
    """Why a file is unusable as a database of `schema`; None when no fault is seen.

    A missing file, a newer version or a lock is no fault. `thorough` also compares the indexes of
    the file with its tables. No file is created beside it.
    """
    if _no_file(path):
        return "is not a file"
    log = Path(f"{path}-wal")
    unwritten = not log.exists()
    problem = _fault(path, schema, thorough, unwritten)
    if problem and unwritten and log.exists():
        # A writer began while the file was read as if there was none.
        return _fault(path, schema, thorough, False)
    return problem


def _no_file(path: Path) -> bool:
    """Whether something else than a file lies there. Opening a FIFO would block for ever."""
    return path.exists() and not path.is_file()


def _fault(path: Path, schema: Schema, thorough: bool, unwritten: bool) -> str | None:
    try:
        with closing(peek(path) if unwritten else _reader(path)) as connection:
            try:
                _recognise(connection, path, schema)
            except Refused:
                return None
            except ForeignDatabase:
                return "is not of djinn's making"
            check = "integrity_check(1)" if thorough else "quick_check(1)"
            result = str(connection.execute(f"pragma {check}").get)
            if result != "ok":
                return f"is damaged ({' '.join(result.split())})"
            lacking = _lacking(connection, schema)
            return f"is damaged (it lacks {lacking})" if lacking else None
    except (apsw.NotADBError, apsw.CorruptError):
        return "is damaged"
    except apsw.Error:
        return None


def newer_database(path: Path, schema: Schema) -> int | None:
    """The version of a database that a newer djinn made; None for every other file."""
    try:
        with closing(peek(path)) as connection:
            version: int = connection.pragma("user_version")
            ours = connection.pragma("application_id") == schema.application
    except apsw.Error:
        return None
    return version if ours and version > schema.newest else None


def _lacking(connection: apsw.Connection, schema: Schema) -> str | None:
    """A table or column that the scripts create and the file lacks."""
    version = connection.pragma("user_version")
    with closing(apsw.Connection(":memory:")) as model:
        for number, script in sorted(schema.numbered.items()):
            if number <= version:
                model.execute(script.read_text(encoding="utf-8"))
        wanted = _columns(model)
    return min(wanted - _columns(connection), default=None)


def _columns(connection: apsw.Connection) -> set[str]:
    columns = connection.execute(
        "select s.name || '.' || i.name from sqlite_schema as s, pragma_table_info(s.name) as i "
        "where s.type = 'table' and s.sql not like 'create virtual table%'"
    )
    return {name for (name,) in columns}


def _open(path: Path, schema: Schema, write: bool) -> apsw.Connection:
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(str(path))
        connection.set_busy_handler(patience())
    else:
        connection = _reader(path)
    try:
        # Before anything else, because even the journal mode is written into the file.
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
        # In WAL mode even a reader writes beside the file. On a read-only disk nobody writes.
        connection = _open_uri(path, "immutable=1")
    return connection


def _open_uri(path: Path, options: str) -> apsw.Connection:
    quoted = re.sub(r"[?#%]", lambda match: f"%{ord(match[0]):02x}", str(path.resolve()))
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quoted}?{options}", flags=flags)


def _recognise(connection: apsw.Connection, path: Path, schema: Schema) -> None:
    """Raise `ForeignDatabase` for another program's file, `Refused` for a newer djinn's."""
    with snapshot(connection):  # Another process may be creating it.
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
    raise ForeignDatabase(f"{path} is not of djinn's making", REPAIR)


def peek(path: Path) -> apsw.Connection:
    """Open a database for a short read. No file is created beside it, and no version checked."""
    if _no_file(path):
        raise apsw.CantOpenError(str(path))
    # In WAL mode even a reader creates files, unless SQLite assumes that nobody writes.
    unwritten = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    connection = _open_uri(path, f"mode=ro{unwritten}")
    try:
        _await(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _await(connection: apsw.Connection) -> None:
    """Wait for a process that locks the whole file: to recover it, or as the last to close it."""
    connection.set_busy_handler(patience())
    insist(lambda: connection.execute("select count(*) from sqlite_schema").get)


def _migrate(connection: apsw.Connection, path: Path, schema: Schema, write: bool) -> None:
    scripts, newest = schema.numbered, schema.newest
    version = connection.pragma("user_version")
    if not write:
        if version < newest:
            raise Unavailable(f"{path} has an older version", Remedy("index", {}, "renews it"))
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
    """All rows of a query. The query's caller knows the types of the columns."""
    return connection.execute(sql, tuple(values)).fetchall()


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at the start, so that it cannot fail half way."""
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
    """Inside, wait at most `seconds` for other writers."""
    connection.set_busy_handler(patience(seconds))
    try:
        with explained(connection.filename):
            yield
    finally:
        connection.set_busy_handler(patience())


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Inside, every query sees the same state, whatever other processes commit.

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
    """Load sqlite-vec's `vec0` tables into this connection."""
    # Importing the package would import the standard library's sqlite3: 10 ms for a file name.
    package = find_spec("sqlite_vec")
    if not package or not package.origin:
        raise Unavailable("the package sqlite-vec is missing; install djinn-memory again")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(str(Path(package.origin).parent / "vec0"))
    finally:
        connection.enable_load_extension(False)
