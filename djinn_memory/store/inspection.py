"""Inspects and copies the databases of a home without changing them. Only `vacuum` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import apsw
from msgspec import Struct

from djinn_memory.store.busy import patience, within
from djinn_memory.store.salvage import read
from djinn_memory.store.sqlite import Connection, Row, explained, load_vectors, peek, reader, rows

HELD_SECONDS = 1.0
"""A process that holds a database for longer has stopped or is not djinn."""


def held(path: Path, *, written: bool = False) -> bool:
    """Whether another process blocks readers of a database, or with `written` its writers."""
    try:
        with within(HELD_SECONDS):
            if not written:
                peek(path).close()
            elif Path(f"{path}-wal").exists():
                with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection:
                    # Else the last connection to close would write the log into the database.
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                    connection.set_busy_handler(patience(path))
                    connection.execute("begin immediate; rollback")
        return False
    except apsw.BusyError:
        return True
    except apsw.Error:
        return False


_NUMBERS = {
    "events": "select count(*) from event",
    "vectors": "select count(*) from embedding",
    "values": "select count(*) from entry where expires > unixepoch('subsec')",
    "version": "pragma user_version",
}


def number(path: Path, what: Literal["events", "vectors", "values", "version"]) -> int:
    """A number in a database.

    These are the events in the ledger, the vectors in the cache, the unexpired values in working
    memory, and the version of the index's schema.
    """
    return _number(path, _NUMBERS[what])


def count_unseen_events(path: Path) -> int:
    """The number of events in a damaged part of a log, which SQLite ignores."""
    log = Path(f"{path}-wal")
    if not log.exists() or not log.stat().st_size:
        return 0
    # In this order, events that are written meanwhile are known. SQLite shows an event only some
    # time after it is in the log, when the writer has finished.
    salvaged = read(path)
    held(path, written=True)
    with closing(peek(path)) as connection:
        known = {key for (key,) in rows(connection, "select id from event")}
    return len((salvaged.events.keys() | salvaged.lost.keys()) - known)


def free_bytes(path: Path) -> int:
    """The size in bytes of the empty pages of a database."""
    return _number(path, "pragma freelist_count") * _number(path, "pragma page_size")


def vacuum(path: Path) -> int:
    """Return the empty pages of a database to the disk; returns their size in bytes."""
    before = path.stat().st_size
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        load_vectors(connection)
        connection.set_busy_handler(patience(path))
        connection.execute("vacuum; pragma wal_checkpoint(truncate)")
    return before - path.stat().st_size


class _IndexContent(Struct, frozen=True):
    """The content of an index."""

    vault_ids: Sequence[str]
    notes: int
    waiting: int
    """The number of windows without a vector."""


@contextmanager
def opened_index(path: Path) -> Iterator[Connection]:
    """A connection that reads the index without changing it."""
    with closing(peek(path)) as connection:
        load_vectors(connection)
        yield connection


def index_content(connection: Connection) -> _IndexContent:
    """The content of the index."""
    return _IndexContent(
        [uuid for (uuid,) in rows(connection, "select uuid from vault")],
        connection.execute("select count(*) from note").get,
        connection.execute("select count(*) from window where not embedded").get,
    )


def misread_notes(connection: Connection) -> list[Row]:
    """`vault/path` and the problem of each note that was only partly understood."""
    return rows(
        connection,
        "select vault.name || '/' || path, problem from note join vault on vault.id = vault_id "
        "where problem is not null order by 1",
    )


def duplicate_ids(connection: Connection) -> list[Row]:
    """Notes that share an id with an older note: the id, the note's path, the older note's path.

    Paths are `vault/path`. The older note is the one created first, or else the one with the older
    file.
    """
    return rows(
        connection,
        "select uid, place, older from (select uid, vault.name || '/' || path as place, "
        "first_value(vault.name || '/' || path) over same as older, row_number() over same as rank "
        "from memory join note on note.id = note_id join vault on vault.id = vault_id "
        "where uid is not null window same as (partition by uid "
        "order by coalesce(created, 'z'), mtime_ns, path)) where rank > 1 order by uid, rank",
    )


def _number(path: Path, sql: str) -> int:
    with closing(peek(path)) as connection:
        return int(connection.execute(sql).get)


def copy_database(path: Path, copy: Path) -> None:
    """Write a consistent copy of a database, including its log, to the new file `copy`."""
    with (
        explained(path),
        closing(reader(path)) as source,
        closing(apsw.Connection(str(copy))) as target,
    ):
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(1000)
        # The copy is one file, also for who reads it on a disk that cannot be written.
        target.pragma("journal_mode", "delete")
