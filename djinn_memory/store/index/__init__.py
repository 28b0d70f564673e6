"""The index: derived from the vaults, made again at any time."""

from __future__ import annotations

from pathlib import Path

import apsw

from djinn_memory.store.sqlite import connect, load_vectors

_SCHEMA = Path(__file__).parent / "schema"


def open_index(path: Path, *, write: bool = True) -> apsw.Connection:
    """The index at `path`, made and migrated when writing; errors as `store.sqlite.connect`."""
    return connect(path, _SCHEMA, write=write, prepare=load_vectors)
