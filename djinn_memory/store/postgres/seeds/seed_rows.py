"""Rows of the tables that other programs read, a class for each table with its columns.

The columns `user_id`, `note_id` and `rev` are left out: they are the same for all rows of a note.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from msgspec import Struct

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

Json: TypeAlias = dict[str, Any] | list[Any]
"""A value of a column of type `jsonb`."""


class EpisodicMemoryRow(Struct, frozen=True):
    """An episode."""

    memory_id: UUID
    episode_type: str
    source_channel: str | None
    raw_content: str
    content_embedding: Vectors | None
    context_snapshot: Json | None
    importance_score: float | None
    extracted_entities: Json
    extracted_intents: Json
    session_id: str | None
    occurred_at: datetime
    djinn_id: str


class SemanticPatternRow(Struct, frozen=True):
    """A pattern."""

    pattern_id: UUID
    pattern_type: str | None
    pattern_category: str | None
    pattern_name: str
    pattern_description: str
    pattern_embedding: Vectors | None
    confidence_score: float | None
    evidence_count: int | None
    status: str | None
    derived_from_episodes: list[UUID]
    first_seen: str | None
    last_seen: str | None
    djinn_id: str


class ActionOutcomeRow(Struct, frozen=True):
    """An outcome of an action."""

    mapping_id: UUID
    action_type: str
    action_context: Json
    outcome_type: str
    effectiveness_score: float
    observed_at: datetime
    djinn_id: str


class KnowledgeEntityRow(Struct, frozen=True):
    """An entity."""

    entity_id: UUID
    entity_type: str
    entity_name: str
    entity_aliases: list[str]
    entity_embedding: Vectors | None
    description: str
    properties: Json
    confidence: float | None
    history: Json
    name_keys: list[str]
    djinn_id: str


class KnowledgeRelationRow(Struct, frozen=True):
    """A relation of an entity to another. The server resolves the name of the other."""

    relation_id: UUID
    entity_id: UUID
    relation_type: str
    target_name: str
    target_key: str
    valid_from: str | None
    valid_to: str | None
    source: str | None
    confidence: float | None


class DocumentRow(Struct, frozen=True):
    """A document."""

    document_id: UUID
    filename: str
    content_type: str | None
    document_type: str | None
    file_size_bytes: int | None
    total_pages: int | None
    title: str
    author: str | None
    subject: str | None
    chunk_strategy: str | None
    chunk_size_tokens: int | None
    total_chunks: int
    embedding_model: str | None
    uploaded_at: datetime | None
    processed_at: datetime | None
    metadata: Json
    djinn_id: str


class DocumentChunkRow(Struct, frozen=True):
    """A chunk of a document."""

    chunk_id: UUID
    document_id: UUID
    document_name: str
    document_type: str | None
    chunk_index: int
    chunk_content: str
    chunk_embedding: Vectors | None
    page_number: int | None
    total_pages: int | None
    content_type: str | None
    metadata: Json
    created_at: datetime | None


class MemoryFactRow(Struct, frozen=True):
    """A fact with its current value."""

    id: UUID
    category: str
    key: str
    value: str
    embedding: Vectors | None
    source: str | None
    confidence: int | None
    expires_at: datetime | None
    source_context: str | None
    last_verified_at: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    valid_from: str | None
    valid_to: str | None
    history: Json
    djinn_id: str


class MemorySummaryRow(Struct, frozen=True):
    """The summary of an agent."""

    content: str
    updated_at: datetime | None
    djinn_id: str


class SemanticCorrelationRow(Struct, frozen=True):
    """Two things that occur together. It follows from all episodes of an agent."""

    correlation_id: UUID
    concept_a_type: str
    concept_a_value: str
    concept_b_type: str
    concept_b_value: str
    correlation_strength: float
    observations: int


SeedRow: TypeAlias = (
    EpisodicMemoryRow
    | SemanticPatternRow
    | ActionOutcomeRow
    | KnowledgeEntityRow
    | KnowledgeRelationRow
    | DocumentRow
    | DocumentChunkRow
    | MemoryFactRow
    | MemorySummaryRow
)

NOTE_TABLES: dict[type[SeedRow], str] = {
    EpisodicMemoryRow: "episodic_memories",
    SemanticPatternRow: "semantic_patterns",
    ActionOutcomeRow: "action_outcome_mappings",
    KnowledgeEntityRow: "knowledge_entities",
    KnowledgeRelationRow: "knowledge_relations",
    DocumentRow: "documents",
    DocumentChunkRow: "document_chunks",
    MemoryFactRow: "memory_facts",
    MemorySummaryRow: "memory_summary",
}
"""The tables whose rows follow from notes. A table stands behind those that it refers to."""

KEYS: dict[type[SeedRow], str] = {
    EpisodicMemoryRow: "memory_id",
    SemanticPatternRow: "pattern_id",
    ActionOutcomeRow: "mapping_id",
    KnowledgeEntityRow: "entity_id",
    DocumentRow: "document_id",
    MemoryFactRow: "id",
}
"""The columns with the id of a memory. It is the UUID5 of `djinn_id` in the scope."""

JSON_COLUMNS = frozenset({
    "context_snapshot", "extracted_entities", "extracted_intents", "action_context", "properties",
    "metadata", "history",
})  # fmt: skip
"""The columns of type `jsonb`."""

RATING_TABLES = {
    "memory_retrieval_log": "memory_id",
    "memory_valuations": "memory_id",
    "memory_gaps": "id",
    "memory_scores": "memory_id",
}
"""The tables that the local ledger has too, and the column with what their events are about."""

EVENT_TABLES = (*RATING_TABLES, "session_memory_state")
"""The tables whose rows follow from events."""

PROJECTIONS = (*NOTE_TABLES.values(), "semantic_correlations", *EVENT_TABLES)
"""All tables that djinn alone writes, because their rows follow from others."""
