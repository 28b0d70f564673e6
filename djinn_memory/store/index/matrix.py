"""Vectors in memory, for a process that answers many questions: a matrix, not a look at each row.

`vec0` takes 6 ms for 5,000 windows, a matrix 0.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import apsw
from msgspec import Struct

from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from djinn_memory.models import Vectors

MAX_BYTES = 64_000_000
"""Of all vectors together; more are left on the disk, where `vec0` looks for them."""


class VectorMatrix(Struct):
    """The vectors of one table, as they were at one state of the database."""

    table: str
    state: int
    """What SQLite calls the state of the file, which every commit of any process changes."""
    vaults: dict[int, tuple[NDArray[np.int64], Vectors]]
    """By vault: windows, and their vectors of shape (windows, dimensions)."""
    rows: dict[int, Vectors]
    """By window: its vector."""


_HELD: WeakKeyDictionary[apsw.Connection, VectorMatrix | None] = WeakKeyDictionary()


def hold(connection: apsw.Connection) -> None:
    """Let `nearest` answer for this connection from now on, for as long as it is open."""
    _HELD[connection] = None


def nearest(
    connection: apsw.Connection, table: str, dimensions: int, query: bytes, vault: int, limit: int
) -> list[int] | None:
    """The windows of a vault nearest to `query`, best first; None where none are held.

    `table` is a `vec0` table with a partition for each vault.
    """
    held = _held(connection, table, dimensions)
    if held is None:
        return None
    if vault not in held.vaults:
        return []
    import numpy as np

    windows, vectors = held.vaults[vault]
    cosines = vectors @ np.frombuffer(query, "<f4")
    if limit < len(cosines):
        best = np.argpartition(-cosines, limit)[:limit]
    else:
        best = np.arange(len(cosines))
    order = best[np.lexsort((windows[best], -cosines[best]))]
    nearest_windows: list[int] = windows[order].tolist()
    return nearest_windows


def of_windows(
    connection: apsw.Connection, table: str, dimensions: int, windows: Sequence[int]
) -> dict[int, bytes] | None:
    """The vectors of windows, float32 bytes, of those that have one; None where none are held."""
    held = _held(connection, table, dimensions)
    if held is None:
        return None
    return {window: held.rows[window].tobytes() for window in windows if window in held.rows}


def _held(connection: apsw.Connection, table: str, dimensions: int) -> VectorMatrix | None:
    if connection not in _HELD:
        return None
    # Only who reads learns of another state; inside a transaction it is what that sees.
    connection.execute("select exists (select 1 from sqlite_schema)").fetchall()
    state = connection.data_version("main")
    held = _HELD.get(connection)
    if held is None or (held.table, held.state) != (table, state):
        held = _read(connection, table, dimensions, state)
        _HELD[connection] = held
    return held


def _read(
    connection: apsw.Connection, table: str, dimensions: int, state: int
) -> VectorMatrix | None:
    """All vectors of a table, read where `vec0` keeps them: a query gives them one by one."""
    import numpy as np

    chunks = rows(connection, f"select chunk_id, partition00, validity, rowids from {table}_chunks")
    if sum(len(rowids) // 8 for *_, rowids in chunks) * dimensions * 4 > MAX_BYTES:
        return None
    parts: dict[int, list[tuple[NDArray[np.int64], Vectors]]] = {}
    for chunk, vault, validity, rowids in chunks:
        windows = np.frombuffer(rowids, "<i8")
        valid = np.unpackbits(np.frombuffer(validity, "u1"), bitorder="little")[: len(windows)]
        with connection.blob_open("main", f"{table}_vector_chunks00", "vectors", chunk, False) as b:
            vectors = np.frombuffer(b.read(), "<f4").reshape(-1, dimensions)
        kept = valid.astype(bool)
        parts.setdefault(vault, []).append((windows[kept], vectors[kept]))
    vaults = {
        vault: (
            np.concatenate([windows for windows, _ in chunks_of_vault]),
            np.concatenate([vectors for _, vectors in chunks_of_vault]),
        )
        for vault, chunks_of_vault in parts.items()
    }
    known = {
        window: vector
        for windows, vectors in vaults.values()
        for window, vector in zip(windows.tolist(), vectors, strict=True)
    }
    return VectorMatrix(table, state, vaults, known)
