"""Removes deleted content from the bytes of a database, where SQLite may leave it."""

from __future__ import annotations

import apsw

from djinn_memory.errors import Busy, Unavailable
from djinn_memory.store.sqlite import explained


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
