"""Rows of `knowledge_entities` and `knowledge_relations`, from the notes of entities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from uuid import uuid5

from djinn_memory.memories.entities.detail import description
from djinn_memory.memories.entities.names import is_entity_type
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.memories.entities.relations import linked_values
from djinn_memory.notes.dates import moment
from djinn_memory.notes.fact_note import PastValue
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.store.postgres.seeds.seed_rows import (
    KnowledgeEntityRow,
    KnowledgeRelationRow,
    SeedRow,
)
from djinn_memory.sync.seeds.seed_memory import SeedMemory


def rows(memories: Sequence[SeedMemory]) -> Iterator[SeedRow]:
    """The rows of the entity in a note, and of its relations."""
    for memory in memories:
        kind = memory.rows.type
        superseded = fold(memory.text("status") or "") == "superseded"
        entity = is_entity_type(memory.rows.plane, kind) and not memory.rows.block
        if entity and not superseded:
            yield _entity(memory, kind or "")
            yield from _relations(memory)


def _entity(memory: SeedMemory, kind: str) -> KnowledgeEntityRow:
    at, note = moment(memory.at), memory.note
    values = timelines(note)
    names = (memory.rows.title, *note.aliases, memory.path, PurePosixPath(memory.path).name)
    return KnowledgeEntityRow(
        entity_id=memory.id,
        entity_type=kind,
        entity_name=memory.rows.title,
        entity_aliases=[*note.aliases],
        entity_embedding=memory.embedding,
        description=description(note),
        properties={key: held.value for key, each in values.items() if (held := each.on(at))},
        history={
            key: [past_value(value) for value in (each.current, *each.history)]
            for key, each in values.items()
        },
        confidence=memory.share("confidence"),
        name_keys=[*dict.fromkeys(map(name_key, names))],
        djinn_id=memory.name,
    )


def past_value(value: PastValue) -> dict[str, Any]:
    """A value with its period, as the columns `history` have it."""
    return {
        "value": value.value,
        "valid_from": value.valid_from,
        "valid_to": value.until,
        "source": value.source,
        "confidence": value.confidence,
    }


def _relations(memory: SeedMemory) -> Iterator[KnowledgeRelationRow]:
    known = set()
    for key, _, value, name in linked_values(memory.note):
        text = "\n".join((key, name, value.valid_from or "", value.until or ""))
        identity = uuid5(memory.id, text)
        if identity not in known:
            known.add(identity)
            yield KnowledgeRelationRow(
                relation_id=identity,
                entity_id=memory.id,
                relation_type=key,
                target_name=name,
                target_key=name_key(name),
                valid_from=value.valid_from,
                valid_to=value.until,
                source=value.source,
                confidence=value.confidence,
            )
