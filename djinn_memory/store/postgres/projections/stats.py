"""Counts what the tables of a server hold, as their seeds' quick commands do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct

from djinn_memory.store.postgres.projections.tables import (
    DOCUMENT_CHUNKS,
    ENTITIES,
    EPISODES,
    FACTS,
    PATTERNS,
)

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_KINDS = {
    "episodic": EPISODES,
    "semantic": PATTERNS,
    "knowledge": ENTITIES,
    "documents": DOCUMENT_CHUNKS,
    "facts": FACTS,
}
"""The kinds of memories, and the tables with their vectors."""


class KindCount(Struct, frozen=True):
    """The memories of a kind on a server."""

    kind: str
    """episodic, semantic, knowledge, documents or facts. Of documents the chunks count."""
    total: int
    """The number of rows."""
    with_embedding: int
    """The rows that have a vector."""


class DocumentCount(Struct, frozen=True):
    """The documents of a type on a server."""

    document_type: str | None
    """general, technical, personal or reference."""
    documents: int
    """The number of documents."""
    chunks: int
    """The number of their chunks."""


def kind_counts(tx: Cursor, scopes: Sequence[UUID] | None) -> list[KindCount]:
    """The memories of each kind, in all scopes that the user may read or in the given ones."""
    counts = []
    for kind, table in _KINDS.items():
        sql = f"select count(*), count({table.vector}) from {table.name} where {_OWN}"
        row = tx.execute(sql.encode(), {"scopes": _listed(scopes)}).fetchone()
        assert row
        counts.append(KindCount(kind, *row))
    return counts


def document_counts(tx: Cursor, scopes: Sequence[UUID] | None) -> list[DocumentCount]:
    """The documents of each type."""
    rows = tx.execute(
        "select document_type, count(distinct document_id), count(*) "
        f"from document_chunks where {_OWN} group by document_type order by document_type".encode(),
        {"scopes": _listed(scopes)},
    )
    return [DocumentCount(*row) for row in rows]


def consolidation_counts(tx: Cursor, scopes: Sequence[UUID] | None) -> tuple[int, int]:
    """The number of episodes that were read for patterns, and of the others."""
    row = tx.execute(
        "select count(*) filter (where consolidated_to_semantic), "
        "count(*) filter (where not consolidated_to_semantic) "
        f"from episodic_memories where {_OWN}".encode(),
        {"scopes": _listed(scopes)},
    ).fetchone()
    assert row
    return row[0], row[1]


_OWN = "(%(scopes)s::uuid[] is null or user_id = any(%(scopes)s::uuid[]))"


def _listed(scopes: Sequence[UUID] | None) -> list[UUID] | None:
    return None if scopes is None else [*scopes]
