"""Finds chunks by vectors: exactly in small scopes, and through HNSW in large ones.

It also makes the HNSW index of a scope, and reads the vectors of notes for other homes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.models import Calibration, Vectors
from djinn_memory.store.index.local import sqlite_vectors
from djinn_memory.store.index.local.sqlite_vectors import MOST_WINDOWS
from djinn_memory.store.index.records import ChunkRef, Measurement, Selection
from djinn_memory.store.index.selection import Condition, Row
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.postgres.connection import PASS_ON
from djinn_memory.store.postgres.index.postgres_tables import POSTGRES, ScopeSelections
from djinn_memory.store.postgres.index.scopes import NEAR, ReadScope, Scopes
from djinn_memory.store.postgres.values import vector_text

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

EXACT_WINDOWS = 20_000
"""Up to this number of windows of a scope, reading all their vectors takes about 10 ms."""

_NEAR_OPTIONS = "with (m = 24, ef_construction = 128)"
"""Of the ten nearest among 200,000 windows .994 are found; with pgvector's own options .92. The
index is as large, and takes three times as long to make."""

_TIES = 16
"""Windows that are read beyond those that are asked for. Which of equal ones come first depends on
their places."""

_MOST_EXPLORED = 1000
"""The greatest `hnsw.ef_search`."""

_EXPLORED_FOR_EACH = 1.5
"""Windows that HNSW explores for each that a search reads. Among 200,000 it finds .998 of the ten
nearest, as with 2, which takes the server 22 % longer; with 1, .95 to .99, as its graph was
made."""

EXPLORED = int(216 * _EXPLORED_FOR_EACH)
"""For the windows that a search reads: its depth of 200, and the ties."""


def exploring(count: int) -> tuple[str, str]:
    """The statements that let HNSW read this many candidates, and go on where a filter needs it."""
    return (
        f"set local hnsw.ef_search = {count:d}",
        "set local hnsw.iterative_scan = relaxed_order",
    )


class PostgresVectorIndex:
    """The vectors of some scopes. `search.backend.VectorIndex` documents the methods."""

    def __init__(self, scopes: Scopes, selections: ScopeSelections, recipe: str) -> None:
        """`recipe` are the settings of the embedder for the server's vectors."""
        self._scopes, self._selections = scopes, selections
        self._recipe = recipe
        self.explored = 0
        """The value of `hnsw.ef_search` in the transaction; 0 while nothing is set for HNSW."""

    @cached_property
    def space(self) -> VectorSpace | None:
        """The vectors in use; None while nothing in these scopes is embedded."""
        model = self._scopes.model
        if model is None or not any(map(self._embedded, self._scopes)):
            return None
        calibration = Calibration(model.scale, model.shift)
        return VectorSpace(1, model.identity, model.dimensions, self._recipe, calibration, True)

    def waiting(self) -> int:
        """The number of windows that are not embedded yet."""
        count = (
            "select count(*) from index_windows where user_id = %s and vector is null "
            "and domain_set = any(%s)"
        )
        return sum(int(scope.fact(count)) for scope in self._scopes)

    def _embedded(self, scope: ReadScope) -> bool:
        return bool(
            scope.fact(
                "select exists (select from index_windows where user_id = %s "
                "and domain_set = any(%s) and vector is not null)"
            )
        )

    def nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> list[ChunkRef]:
        """The chunks of the `limit` nearest windows of each scope."""
        return self.ask_nearest(vector, selection, limit, memories)()

    def ask_nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> Callable[[], list[ChunkRef]]:
        """Send the query of `nearest` to the server; the result reads the answer."""
        if self.space is None:
            return list
        sent = []
        for scope in self._selections.parts(selection.filters.vaults):
            where = (
                None
                if self._selections.takes_all(scope, selection)
                else self._selections.where(scope, selection, chunks=True)
            )
            sent.append((scope, where, self._ask_windows(scope, vector, where, limit)))

        def answer() -> list[ChunkRef]:
            near: list[ChunkRef] = []
            for scope, where, read in sent:
                windows, depth = read(), limit
                chunks = dict.fromkeys(windows)
                while (
                    len({chunk.memory_id for chunk in chunks}) < memories
                    and len(windows) >= depth
                    and depth < MOST_WINDOWS
                ):
                    depth *= 4
                    windows = self._ask_windows(scope, vector, where, depth)()
                    chunks = dict.fromkeys(windows)
                near += chunks
            return near

        return answer

    def measure(self, vector: Vectors, chunk_ids: Collection[int]) -> dict[int, Measurement]:
        """The exact cosine of the best window of each chunk that has vectors."""
        return self.ask_measure(vector, chunk_ids)()

    def ask_measure(
        self, vector: Vectors, chunk_ids: Collection[int]
    ) -> Callable[[], dict[int, Measurement]]:
        """Send the query of `measure` to the server; the result reads the answer."""
        if self.space is None:
            return dict
        sent = [
            (
                scope,
                scope.ask(
                    "select chunk, start, stop, vector_send(vector) from index_windows "
                    "where user_id = %s and chunk = any(%s) and vector is not null "
                    "order by chunk, start",
                    (scope.id, numbers),
                    binary=True,
                ),
            )
            for scope, numbers in self._scopes.of(chunk_ids)
        ]

        def answer() -> dict[int, Measurement]:
            best: dict[int, Measurement] = {}
            for scope, read in sent:
                if listed := read():
                    chunks = [scope.key(number) for number, *_ in listed]
                    spans = [(start, stop) for _, start, stop, _ in listed]
                    held = _stacked([stored for *_, stored in listed])
                    best |= sqlite_vectors.measured(chunks, spans, held, vector)
            return best

        return answer

    def token_signs(self, starts: Mapping[int, int]) -> dict[int, bytes]:
        """The token signs of windows, given by chunk and start."""
        if self.space is None:
            return {}
        width = -(-self.space.dimensions // 8)
        known: dict[int, bytes] = {}
        for scope, numbers in self._scopes.of(starts):
            listed = scope.rows(
                "select windows.chunk, start, signs from index_windows as windows "
                "join index_token_signs as signs on signs.user_id = windows.user_id "
                "and signs.chunk = windows.chunk and signs.number = windows.number "
                "where windows.user_id = %s and windows.chunk = any(%s)",
                (scope.id, numbers),
                binary=True,
            )
            known |= {
                scope.key(number): signs
                for number, start, signs in listed
                if starts[scope.key(number)] == start and len(signs) % width == 0
            }
        return known

    def _ask_windows(
        self, scope: ReadScope, vector: Vectors, where: Condition | None, depth: int
    ) -> Callable[[], list[ChunkRef]]:
        """Ask for the chunks of the `depth` nearest windows that meet a condition."""
        read = self._ask_rows(scope, vector, where, depth + _TIES)
        return lambda: _nearest_first(scope, vector, read())[:depth]

    def _ask_rows(
        self, scope: ReadScope, vector: Vectors, where: Condition | None, count: int
    ) -> Callable[[], list[Row]]:
        assert self.space
        order = "windows.vector <#> %s::vector"
        if scope.near and self._many(scope, where):
            half = f"halfvec({self.space.dimensions:d})"
            order = f"windows.vector::{half} <=> %s::{half}"
            self._explore(min(int(count * _EXPLORED_FOR_EACH), _MOST_EXPLORED))
        joined, narrowed, values = "", "", []
        if where is not None:
            joined = (
                "join index_chunks as chunk on chunk.user_id = windows.user_id "
                "and chunk.number = windows.chunk join index_memories as memory "
                "on memory.user_id = chunk.user_id and memory.number = chunk.memory "
            )
            narrowed, values = f"and {where.sql} ", where.values
        elif scope.hides:
            narrowed, values = "and windows.domain_set = any(%s) ", [scope.visible]
        # The index of a scope is known by its condition, which must not be a parameter.
        return scope.ask(
            f"with near as materialized (select windows.chunk, windows.vector from index_windows "
            f"as windows {joined}where windows.user_id = '{scope.id}' "
            f"and windows.vector is not null {narrowed}order by {order} limit %s) "
            "select chunk.number, memory.number, path, first_line, ordinal, vector_send(vector) "
            "from near join index_chunks as chunk on chunk.user_id = %s "
            "and chunk.number = near.chunk join index_memories as memory "
            "on memory.user_id = chunk.user_id and memory.number = chunk.memory",
            (*values, vector_text(vector), count, scope.id),
            binary=True,
            plan="vectors",
        )

    def _explore(self, count: int) -> None:
        """Let HNSW read as many candidates in the rest of the transaction."""
        if count != self.explored:
            self.explored = count
            for setting in (PASS_ON, *exploring(count)):
                self._scopes.run(setting)

    def _many(self, scope: ReadScope, where: Condition | None) -> bool:
        """Whether so many windows meet a condition that reading all would take long."""
        if where is None:
            return True
        [(count,)] = scope.rows(
            f"select count(*) from (select {POSTGRES.chunks} where {where.sql} limit %s) as chunks",
            (*where.values, EXACT_WINDOWS),
        )
        return int(count) >= EXACT_WINDOWS


def _nearest_first(scope: ReadScope, vector: Vectors, listed: Sequence[Row]) -> list[ChunkRef]:
    """The chunks of windows, nearest first. Equals are sorted by place."""
    if not listed:
        return []
    held = _stacked([stored for *_, stored in listed])
    cosines: list[float] = sqlite_vectors.products(held, vector).tolist()
    refs = [
        ChunkRef(scope.key(number), scope.key(memory), (scope.name, path, line, ordinal))
        for number, memory, path, line, ordinal, _ in listed
    ]
    order = sorted(range(len(refs)), key=lambda at: (-cosines[at], refs[at].place))
    return [refs[at] for at in order]


def _stacked(values: Sequence[bytes]) -> Vectors:
    """Vectors as pgvector returns them, as an array of shape (vectors, dimensions)."""
    import numpy as np

    # The header before the numbers is as long as one number.
    rows = np.frombuffer(b"".join(values), ">f4").reshape(len(values), -1)
    return rows[:, 1:].astype("<f4")


def needs_vector_index(tx: Cursor, scope: UUID) -> bool:
    """Whether a scope has enough vectors for an HNSW index, has none, and this user may make it."""
    tx.execute(
        "select to_regclass(%s) is null and pg_has_role(relowner, 'usage') from pg_class "
        "where oid = 'index_windows'::regclass",
        (near_index(scope),),
    )
    if tx.fetchone() != (True,):
        return False
    # The indexes answer this. The vectors of all windows would have to be read otherwise.
    own = "select from index_windows where user_id = %s"
    tx.execute(f"select count(*) from ({own} and vector is null) as waiting".encode(), (scope,))
    [(waiting,)] = tx.fetchall()
    enough = EXACT_WINDOWS + waiting
    tx.execute(f"select count(*) from ({own} limit %s) as own".encode(), (scope, enough))
    return tx.fetchone() == (enough,)


def index_vectors(tx: Cursor, scope: UUID) -> None:
    """Make the HNSW index of a scope's vectors.

    Call it after the first load: an index that exists makes a load slow.
    """
    [(dimensions,)] = tx.execute("select dimensions from server")
    # Another home may be making it.
    tx.execute("select pg_advisory_xact_lock(%s)", (scope.int & 0x7FFFFFFFFFFFFFFF,))
    # An index that does not fit into memory while it is made takes many times as long.
    tx.execute(PASS_ON)
    tx.execute("set local maintenance_work_mem = '512MB'")
    # Names and the conditions of an index take no parameters; a scope is a UUID, which is safe.
    tx.execute(
        f"create index if not exists {near_index(scope)} on index_windows using hnsw "
        f"((vector::halfvec({dimensions:d})) halfvec_cosine_ops) {_NEAR_OPTIONS} "
        f"where user_id = '{scope}'".encode()
    )


def near_index(scope: UUID) -> str:
    """The name of the HNSW index of a scope."""
    return f"{NEAR}{scope.hex}"


def vectors_of(
    cursor: Cursor, scope: UUID, note_ids: Sequence[UUID]
) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    """The vectors and the token signs of the windows of notes, by the hashes of their texts.

    Vectors are little-endian float32, as in the cache of vectors.
    """
    cursor.execute(
        "select window_.hash, vector, signs from index_memories as memory "
        "join index_chunks as chunk on chunk.user_id = memory.user_id "
        "and chunk.memory = memory.number "
        "join index_windows as window_ on window_.user_id = chunk.user_id "
        "and window_.chunk = chunk.number "
        "left join index_token_signs as tokens on tokens.user_id = window_.user_id "
        "and tokens.chunk = window_.chunk and tokens.number = window_.number "
        "where memory.user_id = %s and note_id = any(%s) and vector is not null",
        (scope, list(note_ids)),
        binary=True,
    )
    vectors: dict[bytes, bytes] = {}
    signs: dict[bytes, bytes] = {}
    for digest, vector, packed in cursor:
        vectors[digest] = _stacked([vector]).tobytes()
        if packed is not None:
            signs[digest] = packed
    return vectors, signs
