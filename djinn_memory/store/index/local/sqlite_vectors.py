"""The vectors of compartments as arrays, and the chunks of some vaults nearest to a question.

They are read from `vec0`'s tables, because `vec0`'s own search is slower. A process that answers
many questions keeps them in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import apsw
from msgspec import Struct, field

from djinn_memory.models import Vectors
from djinn_memory.store.index import vectors
from djinn_memory.store.index.local.sqlite_tables import SQLITE, SqliteSelections
from djinn_memory.store.index.records import ChunkRef, Measurement, Selection
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.sqlite import rows, version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Block = tuple[NDArray[np.int64], Vectors]
    """Window ids, and their vectors as an array of shape (windows, dimensions)."""

MAX_BYTES = 64_000_000
"""Maximum size in bytes of all vectors in memory. Others are read from the disk for each
question."""


class _HeldVectors(Struct):
    """The vectors of one space in memory, for one state of the database."""

    space: VectorSpace
    state: int
    """The version of the file."""
    compartments: dict[int, list[Block]] = field(default_factory=dict)
    rows: dict[int, Vectors] = field(default_factory=dict)
    """Vectors by window id."""


_HELD: WeakKeyDictionary[apsw.Connection, _HeldVectors | None] = WeakKeyDictionary()


def hold(connection: apsw.Connection) -> None:
    """Keep the vectors that this connection reads in memory while the connection is open."""
    _HELD[connection] = None


def holds(connection: apsw.Connection) -> bool:
    """Whether this connection keeps what it reads in memory."""
    return connection in _HELD


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
    for numbers, block in _blocks(connection, space, compartment):
        windows.append(numbers)
        results.append(products(block, query))
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
    state = version(connection)
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
    for windows, block in held.compartments[compartment]:
        held.rows.update(zip(windows.tolist(), block, strict=True))
    return iter(held.compartments[compartment])


def _read(
    connection: apsw.Connection, space: VectorSpace, chunks: Sequence[tuple[int, bytes, bytes]]
) -> Iterator[Block]:
    import numpy as np

    with closing(_VectorFile(connection, space)) as file:
        for chunk, validity, numbers in chunks:
            windows = np.frombuffer(numbers, "<i8")
            valid = np.unpackbits(np.frombuffer(validity, "u1"), bitorder="little")
            mask = valid[: len(windows)].astype(bool)
            vectors = np.frombuffer(file.read(chunk, 0, len(windows)), "<f4")
            yield windows[mask], vectors.reshape(len(windows), -1)[mask]


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


TokenSigns = Callable[[str, Sequence[bytes]], Mapping[bytes, bytes]]
"""Takes a model's identity and text hashes; returns the known token signs by text hash."""


MOST_WINDOWS = 4096
"""Maximum nearest windows of a vault that are read when a few long memories fill an answer."""


class SqliteVectorIndex:
    """The vectors of some vaults. `search.backend.VectorIndex` documents the methods."""

    def __init__(
        self, connection: apsw.Connection, selections: SqliteSelections, token_signs: TokenSigns
    ) -> None:
        self._connection = connection
        self._selections = selections
        self._token_signs = token_signs
        self._measured: tuple[Vectors, dict[int, tuple[NDArray[np.int64], Vectors]]] | None = None

    @cached_property
    def space(self) -> VectorSpace | None:
        """The vectors in use; None while nothing in these vaults is embedded."""
        space = vectors.serving(self._connection)
        held = space and vectors.holds(self._connection, space, self._selections.compartments)
        return space if held else None

    def waiting(self) -> int:
        """The number of windows that are not embedded yet."""
        return vectors.pending(self._connection, self._selections.compartments)

    def nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> list[ChunkRef]:
        """The chunks of the `limit` nearest windows of each vault.

        Each is searched separately, so that a large vault does not crowd out a small one. If a few
        long memories fill the answer, more windows are read until there are enough `memories`.
        """
        import numpy as np

        space = self.space
        if space is None:
            return []
        allowed = self._windows_of(selection)
        near: list[ChunkRef] = []
        [part] = self._selections.parts(selection.filters.vaults)
        for vault in selection.filters.vaults or [each.name for each in part.vaults.values()]:
            measured = [
                self._cosines(space, compartment.number, vector)
                for compartment in self._selections.readable
                if compartment.vault.name == vault
            ]
            if not measured:
                continue
            windows = np.concatenate([numbers for numbers, _ in measured])
            cosines = np.concatenate([values for _, values in measured])
            if allowed is not None:
                inside = np.isin(windows, allowed)
                windows, cosines = windows[inside], cosines[inside]
            depth = limit
            while True:
                chunks = self._best(windows, cosines, depth)
                enough = len({chunk.memory_id for chunk in chunks}) >= memories
                if enough or depth >= min(len(windows), MOST_WINDOWS):
                    break
                depth *= 4
            near += chunks
        return near

    def ask_nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> Callable[[], list[ChunkRef]]:
        """Return a function that calls `nearest`."""
        return lambda: self.nearest(vector, selection, limit, memories)

    def _cosines(
        self, space: VectorSpace, compartment: int, vector: Vectors
    ) -> tuple[NDArray[np.int64], Vectors]:
        """All windows of a compartment and their cosines with a vector.

        The cosines of the last vector are cached, because a search may use several selections.
        """
        if self._measured is None or self._measured[0] is not vector:
            self._measured = (vector, {})
        known = self._measured[1]
        if compartment not in known:
            known[compartment] = cosines(self._connection, space, compartment, vector)
        return known[compartment]

    def measure(self, vector: Vectors, chunk_ids: Collection[int]) -> dict[int, Measurement]:
        """The exact cosine of the best window of each chunk that has vectors."""
        import numpy as np

        if self.space is None:
            return {}
        windows = rows(
            self._connection,
            "select id, chunk_id, start, stop from window where embedded "
            "and chunk_id in (select value from json_each(?)) order by chunk_id, start",
            (json.dumps(list(chunk_ids)),),
        )
        held = of_windows(self._connection, self.space, [key for key, *_ in windows])
        windows = [window for window in windows if window[0] in held]
        if not windows:
            return {}
        chunks, spans = [each[1] for each in windows], [(each[2], each[3]) for each in windows]
        return measured(chunks, spans, np.stack([held[key] for key, *_ in windows]), vector)

    def ask_measure(
        self, vector: Vectors, chunk_ids: Collection[int]
    ) -> Callable[[], dict[int, Measurement]]:
        """Return a function that calls `measure`."""
        return lambda: self.measure(vector, chunk_ids)

    def token_signs(self, starts: Mapping[int, int]) -> dict[int, bytes]:
        """The token signs of windows.

        A window is identified by its chunk and its start in the chunk.
        """
        if self.space is None:
            return {}
        hashes: dict[int, bytes] = dict(
            rows(
                self._connection,
                "select chunk_id, hash from json_each(?) join window "
                "on chunk_id = cast(key as integer) and start = value",
                (json.dumps(starts),),
            )
        )
        signs = self._token_signs(self.space.identity, list(set(hashes.values())))
        # A cloned cache may hold anything.
        width = -(-self.space.dimensions // 8)
        return {
            chunk: signs[key]
            for chunk, key in hashes.items()
            if key in signs and len(signs[key]) % width == 0
        }

    def _windows_of(self, selection: Selection) -> NDArray[np.int64] | None:
        """The windows in a selection, or None if it includes all."""
        import numpy as np

        [part] = self._selections.parts(selection.filters.vaults)
        if self._selections.takes_all(part, selection):
            return None
        where = self._selections.where(part, selection, chunks=True)
        listed = part.rows(
            f"select windows.id {SQLITE.chunks} join {SQLITE.windows} where {where.sql}",
            where.values,
        )
        return np.fromiter((window for (window,) in listed), "<i8", len(listed))

    def _best(self, windows: NDArray[np.int64], cosines: Vectors, count: int) -> list[ChunkRef]:
        """The chunks of the `count` nearest windows."""
        import numpy as np

        if count < len(windows):
            # All windows that are as near as the last: their places decide which of them are taken.
            nearest = cosines >= -np.partition(-cosines, count - 1)[count - 1]
            windows, cosines = windows[nearest], cosines[nearest]
        near: dict[int, float] = dict(zip(windows.tolist(), cosines.tolist(), strict=True))
        listed = rows(
            self._connection,
            "select id, chunk_id from window where id in (select value from json_each(?))",
            (json.dumps(list(near)),),
        )
        refs = self._selections.refs({chunk for _, chunk in listed})
        placed = [(-near[window], refs[chunk].place, refs[chunk]) for window, chunk in listed]
        return list(dict.fromkeys(ref for *_, ref in sorted(placed)[:count]))
