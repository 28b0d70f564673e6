"""The rows of a memory in each table that other programs read. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID, uuid5

from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.entities.detail import description, linked_values
from djinn_memory.memories.entities.names import is_entity_type
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.memories.episodes.reading import KINDS
from djinn_memory.memories.facts.queries import FACT, fact_in
from djinn_memory.memories.patterns import notes as patterns
from djinn_memory.memories.patterns.outcomes import WORTH
from djinn_memory.memories.sessions import summary
from djinn_memory.memories.writing.provenance import UNKNOWN
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.fact_note import PastValue
from djinn_memory.notes.journal import JournalRecord
from djinn_memory.notes.slugs import name_key
from djinn_memory.store.postgres import note_tables as tables
from djinn_memory.store.postgres.event_tables import SHOWN
from djinn_memory.store.postgres.note_tables import NoteRow, NoteTable
from djinn_memory.store.postgres.values import Row
from djinn_memory.sync.notes.source_memory import (
    PushedNote,
    SourceFile,
    SourceMemory,
    mean_vector,
    time_of,
)


def _episodes(memory: SourceMemory) -> Iterator[Row]:
    if record := _record(memory):
        yield {
            "episode_type": memory.rows.type or "",
            "source_channel": memory.text("channel"),
            "raw_content": record.words,
            "content_embedding": memory.embedding,
            "context_snapshot": _context(memory, record) or None,
            "importance_score": memory.share("importance"),
            "extracted_entities": [*map(_mentioned, memory.values("entities"))],
            "extracted_intents": [*memory.values("intents"), *memory.values("similar_intents")],
            "session_id": memory.text("session"),
            "occurred_at": memory.date,
        }


def _context(memory: SourceMemory, record: JournalRecord) -> Mapping[str, Any]:
    """The context that the client recorded with an episode, and the domain of an interaction."""
    given = record.comment.get("context")
    context = dict(given) if isinstance(given, dict) else {}
    # The server adds what the agent had been shown, which it finds in the events.
    context.pop(SHOWN, None)
    domain = memory.text(DOMAIN) if memory.rows.type == "interaction" else None
    return {DOMAIN: domain, **context} if domain else context


def _record(memory: SourceMemory) -> JournalRecord | None:
    """The record of an episode in its journal; None for other memories."""
    block = memory.rows.block
    return memory.file.records.get(block) if block and memory.rows.type in KINDS else None


def _mentioned(text: str) -> Mapping[str, str]:
    kind, colon, name = text.partition(": ")
    return {"type": kind, "text": name} if colon else {"type": "name", "text": text}


def _outcomes(memory: SourceMemory) -> Iterator[Row]:
    record = _record(memory) if memory.rows.type == "outcome" else None
    context = record and record.comment.get("context")
    if not isinstance(context, dict):
        return
    action, result = context.get("action"), context.get("outcome")
    if isinstance(action, str) and action.strip() and result in WORTH:
        yield {
            "action_type": " ".join(action.split()),
            "action_context": {
                key: value for key, value in context.items() if key not in ("action", "outcome")
            },
            "outcome_type": str(result),
            "effectiveness_score": WORTH[result],
            "observed_at": memory.date,
        }


_EPISODE = re.compile(r"#\^(mem-[0-9a-z]{16})\b")
"""The block id of an episode in a link. It is the episode's id with `-` for `_`."""

_PATTERN_TYPES = {"behavioural": "behavioral"}
_PATTERN_CATEGORIES = {
    "temporal": "activity_time",
    "behavioural": "action_frequency",
    "domain": "domain_focus",
    "preference": "choice",
    "causal": "outcome",
}


def _patterns(memory: SourceMemory) -> Iterator[Row]:
    if not memory.is_note(patterns.TYPE):
        return
    links = [match[1] for text in memory.values("evidence") for match in _EPISODE.finditer(text)]
    episodes = [uuid5(memory.file.scope, link.replace("-", "_")) for link in dict.fromkeys(links)]
    category = memory.text("category")
    count = memory.number("evidence_count")
    yield {
        "pattern_type": _PATTERN_TYPES.get(category or "", category),
        "pattern_category": _PATTERN_CATEGORIES.get(category or ""),
        "pattern_name": memory.rows.title,
        "pattern_description": memory.file.note.text[memory.file.note.body :].strip(),
        "pattern_embedding": memory.embedding,
        "confidence_score": memory.share("confidence"),
        "evidence_count": len(episodes) if count is None else count,
        "status": memory.text("status"),
        "derived_from_episodes": episodes,
        "first_seen": memory.text("first_seen"),
        "last_seen": memory.text("last_seen"),
    }


def _entities(memory: SourceMemory) -> Iterator[Row]:
    if not _is_entity(memory):
        return
    at, note, path = moment(memory.file.at), memory.file.note, memory.file.path
    values = timelines(note)
    names = (memory.rows.title, *note.aliases, path, PurePosixPath(path).name)
    yield {
        "entity_type": memory.rows.type or "",
        "entity_name": memory.rows.title,
        "entity_aliases": [*note.aliases],
        "entity_embedding": memory.embedding,
        "description": description(note),
        "properties": {key: held.value for key, each in values.items() if (held := each.on(at))},
        "history": {
            key: [_past_value(value) for value in (each.current, *each.history)]
            for key, each in values.items()
        },
        "confidence": memory.share("confidence"),
        "name_keys": [*dict.fromkeys(map(name_key, names))],
    }


def _is_entity(memory: SourceMemory) -> bool:
    entity = is_entity_type(memory.rows.plane, memory.rows.type) and not memory.rows.block
    return entity and memory.status != "superseded"


def _past_value(value: PastValue) -> dict[str, Any]:
    """A value with its period, as the columns `history` have it."""
    return {"value": value.value, **_stated(value)}


def _stated(value: PastValue) -> dict[str, Any]:
    """The period of a value, its source and its confidence, as columns have them."""
    return {
        "valid_from": value.valid_from,
        "valid_to": value.until,
        "source": value.source,
        "confidence": value.confidence,
    }


def _relations(memory: SourceMemory) -> Iterator[Row]:
    known = set()
    for linked in linked_values(memory.file.note) if _is_entity(memory) else ():
        key, value, name = linked.key, linked.value, linked.name
        text = "\n".join((key, name, value.valid_from or "", value.until or ""))
        identity = uuid5(memory.id, text)
        if identity not in known:
            known.add(identity)
            yield {
                "relation_id": identity,
                "entity_id": memory.id,
                "relation_type": key,
                "target_name": name,
                "target_key": name_key(name),
                **_stated(value),
            }


_DOCUMENT_FIELDS = frozenset({
    "id", "title", "type", "document_type", "author", "subject", "filename", "content_type",
    "total_pages", "chunk_strategy", "chunk_size", "total_chunks", "embedding_model",
    "uploaded_at", "processed_at",
})  # fmt: skip
"""Fields of the front matter that have a column. The others are the metadata."""


def _documents(memory: SourceMemory) -> Iterator[Row]:
    if not _is_document(memory):
        return
    others = dict.fromkeys(key for key, _, _ in memory.rows.fields if key not in _DOCUMENT_FIELDS)
    yield {
        "filename": _filename(memory),
        "content_type": memory.text("content_type"),
        "document_type": memory.text("document_type"),
        "file_size_bytes": memory.number("file_size_bytes"),
        "total_pages": memory.number("total_pages"),
        "title": memory.rows.title,
        "author": memory.text("author"),
        "subject": memory.text("subject"),
        "chunk_strategy": memory.text("chunk_strategy"),
        "chunk_size_tokens": memory.number("chunk_size"),
        "total_chunks": len(memory.rows.chunks),
        "embedding_model": memory.text("embedding_model"),
        "uploaded_at": memory.time("uploaded_at"),
        "processed_at": memory.time("processed_at"),
        "metadata": {
            key: values[0] if len(values := memory.values(key)) == 1 else values for key in others
        },
    }


def _is_document(memory: SourceMemory) -> bool:
    return memory.rows.plane == "documents" and not memory.rows.block


def _filename(memory: SourceMemory) -> str:
    return memory.text("filename") or PurePosixPath(memory.file.path).name


def _document_chunks(memory: SourceMemory) -> Iterator[Row]:
    size, total = memory.text("file_size_bytes"), len(memory.rows.chunks)
    original = int(size) if size and size.isdecimal() and len(size) < 19 else None
    for chunk in memory.rows.chunks if _is_document(memory) else ():
        yield {
            "chunk_id": uuid5(memory.id, str(chunk.ordinal)),
            "document_id": memory.id,
            "document_name": _filename(memory),
            "document_type": memory.text("document_type"),
            "chunk_index": chunk.ordinal,
            "chunk_content": chunk.text,
            "chunk_embedding": mean_vector([chunk]),
            "page_number": chunk.page,
            "total_pages": memory.number("total_pages"),
            "content_type": memory.text("content_type"),
            "metadata": {"original_size": original, "total_chunks": total},
            "created_at": memory.time("uploaded_at"),
        }


def _facts(memory: SourceMemory) -> Iterator[Row]:
    """The fact, unless it was superseded or only proposed."""
    if not memory.is_note(FACT) or memory.status in UNKNOWN:
        return
    file = memory.file
    fact = fact_in(file.content, file.vault, file.path, file.at)
    yield {
        "category": fact.category,
        "key": fact.key,
        "value": fact.value,
        # Earlier values stand behind the first chunk.
        "embedding": mean_vector(memory.rows.chunks[:1]),
        "source": fact.source,
        "confidence": None if fact.confidence is None else round(100 * fact.confidence),
        "expires_at": time_of(fact.expires),
        "source_context": fact.source_context,
        "last_verified_at": time_of(fact.last_verified),
        "created_at": time_of(fact.created),
        "updated_at": time_of(fact.updated) or time_of(fact.created),
        "valid_from": fact.valid_from,
        "valid_to": fact.current.until,
        "history": [_past_value(value) for value in fact.history],
    }


def _summary(memory: SourceMemory) -> Iterator[Row]:
    """The summary, unless another one superseded it."""
    rows, titled = memory.rows, memory.rows.title == summary.TITLE
    if memory.is_note(summary.TYPE) and titled and memory.status != "superseded":
        yield {
            "content": memory.file.note.text[memory.file.note.body :].strip(),
            "updated_at": time_of(rows.updated) or time_of(rows.created),
            "djinn_id": memory.name,
        }


_READERS: dict[NoteTable, Callable[[SourceMemory], Iterator[Row]]] = {
    tables.EPISODES: _episodes,
    tables.PATTERNS: _patterns,
    tables.OUTCOMES: _outcomes,
    tables.ENTITIES: _entities,
    tables.RELATIONS: _relations,
    tables.DOCUMENTS: _documents,
    tables.DOCUMENT_CHUNKS: _document_chunks,
    tables.FACTS: _facts,
    tables.SUMMARY: _summary,
}
"""The rows of a memory in each table, without the columns that `table_rows` adds."""


def table_rows(
    scope: UUID, vault: Vault, note: PushedNote, at: datetime, taken: Collection[UUID] = ()
) -> list[NoteRow]:
    """The rows that follow from a note. Rows that others refer to come first.

    `at` decides which properties of entities hold. Ids in `taken` belong to other notes.
    """
    file = SourceFile(scope, vault, note.rows.path, note.content, at, taken)
    memories = [SourceMemory(file, memory) for memory in note.rows.memories]
    return [
        NoteRow(table, {**_keys(table, memory), **row, "note_id": note.note_id})
        for table, read in _READERS.items()
        for memory in memories
        for row in read(memory)
    ]


def _keys(table: NoteTable, memory: SourceMemory) -> Row:
    return {table.key: memory.id, "djinn_id": memory.name} if table.key else {}
