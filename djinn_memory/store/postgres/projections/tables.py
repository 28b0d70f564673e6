"""The tables that other programs read, as data, and the one writer of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import UUID

from djinn_memory.store.postgres import values

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

Row: TypeAlias = Mapping[str, Any]
"""The values of a row by column, without `user_id` and `rev`. All rows of a table have the same."""


class NoteTable(NamedTuple):
    """A table whose rows follow from single notes."""

    name: str
    key: str | None = None
    """The column with the id of a memory: the UUID5 of `djinn_id` in the scope."""
    vector: str | None = None
    """The column with a vector."""


class NoteRow(NamedTuple):
    """A row that follows from a note. Its column `note_id` names the note."""

    table: NoteTable
    values: Row


EPISODES = NoteTable("episodic_memories", "memory_id", "content_embedding")
PATTERNS = NoteTable("semantic_patterns", "pattern_id", "pattern_embedding")
OUTCOMES = NoteTable("action_outcome_mappings", "mapping_id")
ENTITIES = NoteTable("knowledge_entities", "entity_id", "entity_embedding")
RELATIONS = NoteTable("knowledge_relations")
DOCUMENTS = NoteTable("documents", "document_id")
DOCUMENT_CHUNKS = NoteTable("document_chunks", vector="chunk_embedding")
FACTS = NoteTable("memory_facts", "id", "embedding")
SUMMARY = NoteTable("memory_summary")

NOTE_TABLES = (
    EPISODES, PATTERNS, OUTCOMES, ENTITIES, RELATIONS, DOCUMENTS, DOCUMENT_CHUNKS, FACTS, SUMMARY,
)  # fmt: skip
"""The tables whose rows follow from notes. A table stands behind those that it refers to."""

CORRELATIONS = "semantic_correlations"
"""The table of what occurs together. Its rows follow from all episodes of an agent."""

RATING_TABLES = {
    "memory_retrieval_log": "memory_id",
    "memory_valuations": "memory_id",
    "memory_gaps": "id",
    "memory_scores": "memory_id",
}
"""The tables that the local ledger has too, and the column with what their events are about."""

EVENT_TABLES = (*RATING_TABLES, "session_memory_state")
"""The tables whose rows follow from events."""

PROJECTIONS = (*(table.name for table in NOTE_TABLES), CORRELATIONS, *EVENT_TABLES)
"""All tables that djinn alone writes, because their rows follow from others."""


def write_rows(tx: Cursor, scope: UUID, rev: int, table: str, rows: Sequence[Row]) -> None:
    """Write new rows of a table."""
    if rows:
        columns = [*rows[0]]
        listed = ((*(row[column] for column in columns), rev) for row in rows)
        values.write_rows(tx, scope, table, [*columns, "rev"], listed)


def replace_rows(tx: Cursor, scope: UUID, rev: int, table: str, rows: Sequence[Row]) -> None:
    """Write the rows of a table instead of all that the scope has in it."""
    tx.execute(f"delete from {table} where user_id = %s".encode(), (scope,))
    write_rows(tx, scope, rev, table, rows)
