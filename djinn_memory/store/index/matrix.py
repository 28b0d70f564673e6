"""The vectors of a compartment as arrays.

They are read from `vec0`'s tables, because `vec0`'s own search is slower.

A process that answers many questions keeps them in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import apsw
from msgspec import Struct, field

from djinn_memory.store.index.records import Measurement
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from djinn_memory.models import Vectors

    Block = tuple[NDArray[np.int64], Vectors]
    """Window ids, and their vectors as an array of shape (windows, dimensions)."""

MAX_BYTES = 64_000_000
"""Maximum size in bytes of all vectors in memory. Others are read from the disk for each
question."""


class _HeldVectors(Struct):
    """The vectors of one space in memory, for one state of the database."""

    space: VectorSpace
    state: int
    """SQLite's data version of the file. It changes with every commit by another connection."""
    compartments: dict[int, list[Block]] = field(default_factory=dict)
    rows: dict[int, Vectors] = field(default_factory=dict)
    """Vectors by window id."""


_HELD: WeakKeyDictionary[apsw.Connection, _HeldVectors | None] = WeakKeyDictionary()


def hold(connection: apsw.Connection) -> None:
    """Keep the vectors that this connection reads in memory while the connection is open."""
    _HELD[connection] = None


def products(vectors: Vectors, query: Vectors) -> Vectors:
    """The product of each row with `query`.

    A row's result is bit-identical whatever the other rows are.
    """
    import numpy as np

    # BLAS adds up the last rows of a matrix in another order.
    result: Vectors = np.einsum("ij,j->i", vectors, query)
    return result


def measured(
    chunks: Sequence[int], spans: Sequence[tuple[int, int]], vectors: Vectors, query: Vectors
) -> dict[int, Measurement]:
    """The best window of each chunk. Of equal windows the first counts."""
    best: dict[int, Measurement] = {}
    values: list[float] = products(vectors, query).tolist()
    for chunk, span, vector, cosine in zip(chunks, spans, vectors, values, strict=True):
        if chunk not in best or cosine > best[chunk].cosine:
            best[chunk] = Measurement(cosine, span, vector)
    return best


def cosines(
    connection: apsw.Connection, space: VectorSpace, compartment: int, query: Vectors
) -> tuple[NDArray[np.int64], Vectors]:
    """All windows of a compartment that have a vector, and their cosines with the query vector."""
    import numpy as np

    windows, results = [np.empty(0, "<i8")], [np.empty(0, "<f4")]
    for numbers, vectors in _blocks(connection, space, compartment):
        windows.append(numbers)
        results.append(products(vectors, query))
    return np.concatenate(windows), np.concatenate(results)


def of_windows(
    connection: apsw.Connection, space: VectorSpace, windows: Sequence[int]
) -> dict[int, Vectors]:
    """The vectors of those windows that have one."""
    import numpy as np

    held = _held(connection, space)
    known = held.rows if held else {}
    vectors = {window: known[window] for window in windows if window in known}
    missing = [window for window in windows if window not in vectors]
    places = rows(
        connection,
        f"select rowid, chunk_id, chunk_offset from {space.table}_rowids "
        "where rowid in (select value from json_each(?)) order by chunk_id, chunk_offset",
        (json.dumps(missing),),
    )
    with closing(_VectorFile(connection, space)) as file:
        for window, chunk, offset in places:
            vectors[window] = np.frombuffer(file.read(chunk, offset, 1), "<f4")
    return vectors


def _held(connection: apsw.Connection, space: VectorSpace) -> _HeldVectors | None:
    """The vectors in memory for a space, or None if this connection keeps none."""
    if connection not in _HELD:
        return None
    # Only who reads learns of another state; inside a transaction it is what that sees.
    connection.execute("select exists (select 1 from sqlite_schema)").fetchall()
    state = connection.data_version("main")
    held = _HELD.get(connection)
    if held is None or (held.space.number, held.state) != (space.number, state):
        held = _HELD[connection] = _HeldVectors(space, state)
    return held


def _blocks(connection: apsw.Connection, space: VectorSpace, compartment: int) -> Iterator[Block]:
    held = _held(connection, space)
    if held and compartment in held.compartments:
        return iter(held.compartments[compartment])
    chunks = rows(
        connection,
        f"select chunk_id, validity, rowids from {space.table}_chunks where partition00 = ?",
        (compartment,),
    )
    blocks = _read(connection, space, chunks)
    count = sum(len(numbers) // 8 for *_, numbers in chunks)
    if held is None or (len(held.rows) + count) * space.dimensions * 4 > MAX_BYTES:
        return blocks
    held.compartments[compartment] = list(blocks)
    for windows, vectors in held.compartments[compartment]:
        held.rows.update(zip(windows.tolist(), vectors, strict=True))
    return iter(held.compartments[compartment])


def _read(
    connection: apsw.Connection, space: VectorSpace, chunks: Sequence[tuple[int, bytes, bytes]]
) -> Iterator[Block]:
    import numpy as np

    with closing(_VectorFile(connection, space)) as file:
        for chunk, validity, numbers in chunks:
            windows = np.frombuffer(numbers, "<i8")
            valid = np.unpackbits(np.frombuffer(validity, "u1"), bitorder="little")
            kept = valid[: len(windows)].astype(bool)
            vectors = np.frombuffer(file.read(chunk, 0, len(windows)), "<f4")
            yield windows[kept], vectors.reshape(len(windows), -1)[kept]


class _VectorFile:
    """Reads the blobs in which `vec0` stores vectors, many in each."""

    def __init__(self, connection: apsw.Connection, space: VectorSpace) -> None:
        self._connection = connection
        self._table = f"{space.table}_vector_chunks00"
        self._size = 4 * space.dimensions
        self._blob: apsw.Blob | None = None
        self._chunk = 0

    def read(self, chunk: int, offset: int, count: int) -> bytes:
        """Read `count` vectors of a chunk, from `offset` on."""
        if self._blob is None:
            self._blob = self._connection.blob_open("main", self._table, "vectors", chunk, False)
        elif chunk != self._chunk:
            self._blob.reopen(chunk)
        self._chunk = chunk
        self._blob.seek(offset * self._size)
        return self._blob.read(count * self._size)

    def close(self) -> None:
        """Close the open blob."""
        if self._blob:
            self._blob.close()
