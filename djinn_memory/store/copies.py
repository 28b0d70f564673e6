"""Copies databases while other processes write them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from djinn_memory.store.sqlite import explained, reader


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
