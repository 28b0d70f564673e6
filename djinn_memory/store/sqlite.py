"""Opens SQLite databases: file checks, pragmas, migrations, transactions, errors, erasure."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from djinn_memory.errors import Busy, DjinnError, Refused, Remedy, Unavailable
from djinn_memory.store.busy import BREATH_SECONDS, in_use, insist, patience
from djinn_memory.system.files import create_private, make_folder

Row = tuple[Any, ...]

Connection = apsw.Connection
DatabaseError = apsw.Error

REPAIR = Remedy("doctor", {"fix": True})
"""The remedy for a damaged database."""


class Schema(Struct, frozen=True):
    """A kind of database that djinn creates."""

    scripts: Path
    """The folder of its numbered scripts. Each script migrates to the next version."""
    application: int
    """Its `pragma application_id`."""
    marked: int
    """The first version with that id. Earlier versions have id 0 and are recognised by `tables`."""
    tables: frozenset[str]
    """Tables that exist in every version."""
    durable: bool = False
    """Whether a commit survives a power cut, not only the end of the process."""
    finish: Callable[[apsw.Connection], None] | None = None
    """Completes the last script with steps that SQL cannot do, in the same transaction."""

    @property
    def newest(self) -> int:
        """The latest version."""
        return max(self.numbered)

    @property
    def numbered(self) -> dict[int, Path]:
        """The scripts, by the version that they produce."""
        return {int(file.stem): file for file in self.scripts.glob("[0-9]*.sql")}


class DamagedDatabase(Unavailable):
    """The file is damaged, or is not a database."""


STORE_ERRORS: tuple[type[Exception], ...] = (apsw.Error, DamagedDatabase, UnicodeDecodeError)
"""The errors that a damaged database raises. All text that djinn writes is UTF-8."""


class DiskFull(Unavailable):
    """The disk is full or failing."""


class ForeignDatabase(DamagedDatabase):
    """The file is a database of another program or of another kind."""


def connect(
    path: Path,
    schema: Schema,
    *,
    write: bool = True,
    prepare: Callable[[apsw.Connection], None] | None = None,
) -> apsw.Connection:
    """Open `path`. `write` creates the file and migrates it to the latest version.

    `prepare` sets up the connection for the scripts and later queries. Reading also works on a
    read-only disk.

    Raises `Unavailable` when the file is missing or unreadable, `DamagedDatabase` when it is
    damaged or another program's, which is never written to, and `Refused` when a newer djinn made
    it, or when it is a link, because a link in a cloned home may lead anywhere.
    """
    if write and path.is_symlink():
        raise Refused(
            f"{path} is a symbolic link, which djinn does not follow; remove it first",
            Remedy("index"),
        )
    if not_a_file(path):
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
    """Open a database for writing, or for reading when its disk is read-only or full.

    Raises `missing` when the file does not exist and cannot be created.
    """
    try:
        return connect(True)
    except (Busy, DamagedDatabase):
        raise
    except (Unavailable, OSError) as error:
        if isinstance(error, DiskFull) and empty(path):
            raise
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
    except apsw.ReadOnlyError:
        # It is also opened for reading alone where the disk has no room.
        why = "the disk is full or read-only, or its permissions forbid it"
        raise Unavailable(f"{path} cannot be written: {why}") from None
    except (apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError):
        raise Unavailable(
            f"{path} cannot be opened; check that it exists and its permissions"
        ) from None
    except (apsw.NotADBError, apsw.CorruptError, UnicodeDecodeError):
        raise DamagedDatabase(f"{path} is damaged", REPAIR) from None
    except (apsw.FullError, apsw.IOError):
        raise DiskFull(f"{path} cannot be written: the disk is full or failing") from None
    except apsw.BusyError:
        raise in_use(path) from None


def empty(path: Path) -> bool:
    """Whether the file is missing or has no content, as a full disk leaves it."""
    return not path.exists() or path.stat().st_size == 0


def not_a_file(path: Path) -> bool:
    """Whether the path holds something other than a file. Opening a FIFO would block forever."""
    return path.exists() and not path.is_file()


def _open(path: Path, schema: Schema, write: bool) -> apsw.Connection:
    if write:
        make_folder(path.parent, private=True)
        # SQLite gives the files beside a database the mode of the database.
        with suppress(OSError):
            create_private(path)
        connection = apsw.Connection(str(path))
        connection.set_busy_handler(patience(path))
    else:
        connection = reader(path)
    try:
        # Before anything else, because even the journal mode is written into the file.
        insist(path, lambda: recognise(connection, path, schema))
        if write:
            insist(path, lambda: connection.pragma("journal_mode", "wal"))
            connection.pragma("synchronous", "full" if schema.durable else "normal")
        connection.execute("pragma foreign_keys = on; pragma temp_store = memory")
        # Else SQLite plans a statement anew for other values, FTS5's own for each word.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def reader(path: Path) -> apsw.Connection:
    """A connection for reading. It waits for writers, and works on a read-only disk."""
    if not path.is_file():
        raise apsw.CantOpenError(str(path))
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _await(connection, path)
        return connection
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        # In WAL mode even a reader writes beside the file. On a read-only disk nobody writes.
        return _open_uri(path, "immutable=1")
    except (apsw.FullError, apsw.IOError):
        connection.close()
        return _on_full_disk(path)


def _on_full_disk(path: Path) -> apsw.Connection:
    """Read a database in WAL mode without creating a file beside it."""
    if empty(Path(f"{path}-wal")):
        return _open_uri(path, "immutable=1")
    # A killed process left a log. SQLite reads it by itself only while it keeps everybody else
    # out, so a copy answers.
    copy = apsw.Connection(":memory:")
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as original:
        original.pragma("locking_mode", "exclusive")
        _await(original, path)
        with copy.backup("main", original, "main") as backup:
            backup.step()
    copy.pragma("query_only", True)
    return copy


def read_only(connection: apsw.Connection) -> bool:
    """Whether a database was opened for reading, perhaps because its disk is full."""
    return connection.readonly("main") or bool(connection.pragma("query_only"))


def _open_uri(path: Path, options: str) -> apsw.Connection:
    quoted = re.sub(r"[?#%]", lambda match: f"%{ord(match[0]):02x}", str(path.resolve()))
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quoted}?{options}", flags=flags)


def recognise(connection: apsw.Connection, path: Path, schema: Schema) -> None:
    """Raise `ForeignDatabase` for another program's file, `Refused` for a newer djinn's file."""
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
    raise ForeignDatabase(f"{path} was not created by djinn", REPAIR)


def peek(path: Path) -> apsw.Connection:
    """Open a database for a short read. No file is created beside it.

    The version is not checked.
    """
    if not_a_file(path):
        raise apsw.CantOpenError(str(path))
    # In WAL mode even a reader creates files, unless SQLite assumes that nobody writes.
    unwritten = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    connection = _open_uri(path, f"mode=ro{unwritten}")
    try:
        _await(connection, path)
    except (apsw.FullError, apsw.IOError):
        connection.close()
        return _on_full_disk(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _await(connection: apsw.Connection, path: Path) -> None:
    """Wait for a process that locks the whole file, to recover it or to close it last."""
    connection.set_busy_handler(patience(path))
    insist(path, lambda: connection.execute("select count(*) from sqlite_schema").get)


def _migrate(connection: apsw.Connection, path: Path, schema: Schema, write: bool) -> None:
    scripts, newest = schema.numbered, schema.newest
    version = connection.pragma("user_version")
    if not write:
        if version < newest:
            raise Unavailable(f"{path} has an older format", Remedy("index", {}, "update it"))
        return
    while version < newest:
        with transaction(connection):
            # Another process may have migrated while this one waited for the lock.
            version = connection.pragma("user_version")
            if version < newest:
                connection.execute(scripts[version + 1].read_text(encoding="utf-8"))
                connection.pragma("user_version", version + 1)
                version += 1
                if schema.finish and version == newest:
                    schema.finish(connection)


def rows(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> list[Row]:
    """All rows of a query. The caller knows the types of the columns."""
    return connection.execute(sql, tuple(values)).fetchall()


def version(connection: apsw.Connection) -> int:
    """A number that changes with every commit to the file, by this connection or another.

    Inside a transaction it is that of the state that the transaction sees.
    """
    # Only who reads learns of another state.
    rows(connection, "select exists (select 1 from sqlite_schema)")
    return connection.data_version("main")


def write_row(
    connection: apsw.Connection, table: str, row: Mapping[str, object], number: int | None = None
) -> int:
    """Write a row, given as values by column, to row number `number` or to a new row.

    Returns the row's number.
    """
    if number is not None:
        columns = ", ".join(f"{name} = :{name}" for name in row)
        connection.execute(f"update {table} set {columns} where id = :id", {**row, "id": number})
        return number
    columns, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    inserted: int = connection.execute(
        f"insert into {table} ({columns}) values ({marks}) returning id", row
    ).get
    return inserted


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at the start, so that it cannot fail halfway."""
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
def savepoint(connection: apsw.Connection) -> Iterator[None]:
    """A part of a transaction that is undone by itself if it fails.

    On a full disk, SQLite undoes the whole transaction.
    """
    with explained(connection.filename):
        connection.execute("savepoint part")
        try:
            yield
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback to part; release part")
            raise
        connection.execute("release part")


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Every query in the block sees the same state, whatever other processes commit.

    Inside a transaction or another snapshot this has no effect.
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


def erase(connection: apsw.Connection, remedy: str = "run the command again") -> None:
    """Rewrite a database without its deleted content, and empty its log.

    Raises `Unavailable` when another process keeps reading it. The content may then still be there.
    `remedy` tells the user what removes it after the end of that process.
    """
    path = connection.filename
    try:
        with explained(path):
            connection.execute("vacuum")
            empty_log(connection)
    except Busy:
        raise Unavailable(
            f"another djinn process is reading {path}, which may still contain purged text; "
            f"end that process, then {remedy}"
        ) from None


def empty_log(connection: apsw.Connection) -> None:
    """Move the content of a database's log into the database, and truncate the log."""
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
