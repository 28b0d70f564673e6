"""Reads the rows that follow from notes, as the server has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from djinn_memory.store.postgres.seeds.projections import LostName
from djinn_memory.store.postgres.seeds.seed_rows import NOTE_TABLES, SeedRow
from djinn_memory.store.postgres.values import cleaned

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_VECTORS = frozenset({
    "content_embedding", "pattern_embedding", "entity_embedding", "chunk_embedding", "embedding",
})  # fmt: skip

_LEFT_OUT = _VECTORS | {"properties"}
"""Columns that are not compared: vectors, and what held at the time of the push."""


def rows_of_notes(
    tx: Cursor, scope: UUID, note_ids: Sequence[UUID]
) -> dict[tuple[UUID, str], list[str]]:
    """The rows by note and table, each as a text that is equal for equal rows."""
    listed: defaultdict[tuple[UUID, str], list[str]] = defaultdict(list)
    for kind, table in NOTE_TABLES.items():
        columns = ", ".join(name for name in kind.__struct_fields__ if name not in _LEFT_OUT)
        tx.execute(
            f"select note_id, {columns} from {table} "
            "where user_id = %s and note_id = any(%s)".encode(),
            (scope, list(note_ids)),
        )
        for note, *values in tx:
            listed[note, table].append(_comparable(values))
    return listed


def as_stored(row: SeedRow) -> str:
    """The text of a row that was not written, as `rows_of_notes` returns it."""
    names = (name for name in row.__struct_fields__ if name not in _LEFT_OUT)
    return _comparable([cleaned(getattr(row, name)) for name in names])


def _comparable(value: Any) -> str:
    if isinstance(value, datetime):
        return repr(value.timestamp())
    if isinstance(value, Mapping):
        return repr(sorted((key, _comparable(inner)) for key, inner in value.items()))
    if isinstance(value, list | tuple):
        return repr([*map(_comparable, value)])
    if isinstance(value, int | float):
        return repr(float(value))
    return str(value)


def texts_of_notes(
    tx: Cursor, scope: UUID, note_ids: Sequence[UUID]
) -> dict[UUID, set[tuple[str | None, int, str]]]:
    """The chunks of notes in the search index: the block of the memory, ordinal and text."""
    tx.execute(
        "select note_id, block, ordinal, text from index_memories as memory "
        "join index_chunks as chunk on chunk.user_id = memory.user_id "
        "and chunk.memory = memory.number where memory.user_id = %s and note_id = any(%s)",
        (scope, list(note_ids)),
    )
    texts: defaultdict[UUID, set[tuple[str | None, int, str]]] = defaultdict(set)
    for note, *chunk in tx:
        texts[note].add((chunk[0], chunk[1], chunk[2]))
    return texts


def lost_names(tx: Cursor, scope: UUID) -> dict[UUID, set[LostName]]:
    """The names that notes lost to other notes."""
    tx.execute("select kind, name, note_id from outranked_notes where user_id = %s", (scope,))
    lost: defaultdict[UUID, set[LostName]] = defaultdict(set)
    for kind, name, note in tx:
        lost[note].add(LostName(kind, name, note))
    return lost
