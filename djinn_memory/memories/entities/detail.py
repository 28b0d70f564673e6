"""An entity with its properties, its relations and its mentions."""

from __future__ import annotations

from collections.abc import Iterator

from djinn_memory.memories.entities.mentions import (
    Mention,
    everyone,
    newest,
    occurrences,
)
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.memories.entities.relations import Relation, read_note, relations_of
from djinn_memory.models import Memory, Vault, extended
from djinn_memory.notes.fact_note import HISTORY, PastValue, history_span
from djinn_memory.notes.note import Note
from djinn_memory.notes.periods import spoken_period
from djinn_memory.scoring import share_of
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, MemoryNames


class EntityProperty(PastValue, frozen=True, kw_only=True):
    """A property with its current value, or with the value that held at a requested time."""

    key: str
    """The property, such as `city`."""
    holds: str | None = None
    """The period in words, such as `since 3 May 2026`; null if it is unknown."""
    history: tuple[PastValue, ...] = ()
    """Its other values, the last to begin first."""


class EntityDetail(Memory, frozen=True, kw_only=True):
    """An entity. Its `type` is its kind, and its `title` is its name."""

    aliases: tuple[str, ...]
    """Its other names."""
    confidence: float | None
    """How certain the entity is, from 0 to 1."""
    text: str
    """Its description: the text of the note above the history."""
    properties: tuple[EntityProperty, ...]
    """Its properties, sorted by key."""
    relations: tuple[Relation, ...]
    """Its relations to other entities, from both sides. Those that hold come first."""
    mentioned: int
    """How often the memories that the agent sees mention it."""
    mentions: tuple[Mention, ...]
    """The newest mentions."""
    as_of: str | None = None
    """The time of the request."""


def entity_detail(
    index: Index, memory: IndexedMemory, at: str, *, as_of: bool, limit: int
) -> EntityDetail:
    """An entity as it was at a time. With `as_of`, only relations that held then are listed."""
    vaults = {vault.name: vault for vault in index.vaults}
    note = read_note(vaults[memory.vault], memory.path)
    entity = extended(memory, MemoryNames)
    mentions = [*occurrences(index, [entity], everyone(index))]
    relations = [
        each
        for each in relations_of(index, memory.memory_id, memory, at)
        if each.current or not as_of
    ]
    relations.sort(key=lambda each: each.valid_from or "", reverse=True)
    relations.sort(key=lambda each: (not each.current, each.direction == "from"))
    return extended(
        memory,
        EntityDetail,
        aliases=note.aliases,
        confidence=share_of(dict(reversed(note.fields)).get("confidence")),
        text=description(note),
        properties=tuple(_properties(note, at, as_of=as_of)),
        relations=tuple(relations),
        mentioned=len(mentions),
        mentions=newest(index, mentions, limit),
        as_of=at if as_of else None,
    )


def written_entity(vault: Vault, path: str, at: str) -> EntityDetail:
    """An entity from its note alone, as it is on the disk: without mentions and relations."""
    note = read_note(vault, path)
    when = note.updated or note.created or at
    return extended(
        note,
        EntityDetail,
        vault=vault.name,
        path=path,
        file=str(vault.root.resolve() / path),
        plane="knowledge",
        created=note.created,
        updated=note.updated,
        date=note.date or when,
        text=description(note),
        confidence=share_of(dict(reversed(note.fields)).get("confidence")),
        properties=tuple(_properties(note, at, as_of=False)),
        relations=(),
        mentioned=0,
        mentions=(),
    )


def description(note: Note) -> str:
    """The text of an entity's note above its history."""
    body = note.text[note.body :]
    span = history_span(body)
    return (body[: body.rfind(HISTORY, 0, span[0])] if span else body).strip()


def _properties(note: Note, at: str, *, as_of: bool) -> Iterator[EntityProperty]:
    for key, values in timelines(note).items():
        value = values.on(at)
        if value is None and as_of:
            continue
        # A value that has ended, and is followed by none, is shown with its end.
        value = value or values.current
        holds = spoken_period(values.whole_period(value), at)
        others = tuple(each for each in (values.current, *values.history) if each != value)
        yield extended(value, EntityProperty, key=key, holds=holds, history=others)
