"""Reads the rows that follow from notes, as the server has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from djinn_memory.store.postgres.seeds.projections import LostName
from djinn_memory.store.postgres.seeds.seed_rows import NOTE_TABLES, SeedRow, SemanticCorrelationRow
from djinn_memory.store.postgres.values import cleaned, comparable

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
            listed[note, table].append(comparable(values))
    return listed


def as_stored(row: SeedRow | SemanticCorrelationRow) -> str:
    """The text of a row that was not written, as `rows_of_notes` returns it."""
    names = (name for name in row.__struct_fields__ if name not in _LEFT_OUT)
    return comparable([cleaned(getattr(row, name)) for name in names])


def lost_names(tx: Cursor, scope: UUID) -> dict[UUID, set[LostName]]:
    """The names that notes lost to other notes."""
    tx.execute("select kind, name, note_id from outranked_notes where user_id = %s", (scope,))
    lost: defaultdict[UUID, set[LostName]] = defaultdict(set)
    for kind, name, note in tx:
        lost[note].add(LostName(kind, name, note))
    return lost


EVENT_COLUMNS = {
    "memory_retrieval_log": (
        "id", "request_id", "agent_id", "session_id", "run_id", "memory_id", "memory_title",
        "query", "retrieval_source", "rank", "raw_score", "blended_score", "used", "created_at",
    ),
    "memory_valuations": (
        "id", "request_id", "agent_id", "session_id", "run_id", "memory_id", "memory_title",
        "useful", "created_at",
    ),
    "memory_gaps": (
        "id", "agent_id", "session_id", "description", "query_attempted", "status", "closed_by",
        "created_at", "closed_at",
    ),
    "memory_scores": (
        "agent_id", "memory_id", "access_count", "valuation_count", "useful_count",
        "not_useful_count", "usefulness_rate", "last_used", "last_valued", "updated_at",
    ),
    "session_memory_state": ("session_id", "agent_id", "extracted_at"),
}  # fmt: skip
"""The columns of the tables of events that are compared. `adaptive_score` is left out: it depends
on the settings of the home that wrote it."""

_TIMES = frozenset({
    "created_at", "closed_at", "last_used", "last_valued", "updated_at", "extracted_at",
})  # fmt: skip
"""Columns of the tables of events with times, which the ledger has as texts."""


def event_rows(tx: Cursor, scope: UUID, table: str) -> Iterator[str]:
    """The rows of a table that follows from events, as `as_event_row` returns them."""
    # The driver cannot read infinite times.
    columns = ", ".join(
        f"extract(epoch from {name})::float8" if name in _TIMES else name
        for name in EVENT_COLUMNS[table]
    )
    tx.execute(f"select {columns} from {table} where user_id = %s".encode(), (scope,))
    for values in tx:
        yield comparable(values)


def as_event_row(table: str, row: Mapping[str, Any]) -> str:
    """The text of a row that was not written, as `event_rows` returns it."""
    values = (row[name] for name in EVENT_COLUMNS[table])
    return comparable(
        [
            datetime.fromisoformat(value).timestamp()
            if name in _TIMES and value
            else cleaned(value)
            for name, value in zip(EVENT_COLUMNS[table], values, strict=True)
        ]
    )


def correlations(tx: Cursor, scope: UUID) -> Iterator[str]:
    """The rows of `semantic_correlations`, as `as_stored` returns them."""
    columns = ", ".join(SemanticCorrelationRow.__struct_fields__)
    tx.execute(f"select {columns} from semantic_correlations where user_id = %s".encode(), (scope,))
    for values in tx:
        yield comparable(values)
