"""Takes what was deleted out of the bytes of a database, where SQLite leaves it for a time."""

from __future__ import annotations

import apsw

from djinn_memory.errors import Unavailable
from djinn_memory.store.sqlite import DiskFull, explained


def erase(connection: apsw.Connection) -> None:
    """Write a database anew without what was deleted from it, and empty its log.

    `Unavailable` where another process reads it for long; what was deleted may be in it still.
    """
    path = connection.filename
    try:
        with explained(path):
            connection.execute("vacuum")
            empty_log(connection)
    except DiskFull:
        raise
    except Unavailable:
        raise Unavailable(
            f"{path} is read by another djinn process, and may hold what was purged until the next "
            "purge; end that process"
        ) from None


def empty_log(connection: apsw.Connection) -> None:
    """Write what the log of a database holds into the database, and leave nothing in the log."""
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
