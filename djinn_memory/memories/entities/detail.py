"""An entity with its properties, its relations and its mentions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.entities.mentions import Mention, newest, occurrences
from djinn_memory.memories.entities.names import Named, everyone, is_entity
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.models import Memory, Vault, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.fact_note import HISTORY, PastValue, Timeline, history_span
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.periods import spoken_period
from djinn_memory.scoring import share_of
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory

MOST = 200
"""Maximum number of other entities whose notes are read if these are limited."""

_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")


class Relation(Struct, frozen=True, kw_only=True):
    """A relation between two entities: a property whose value is a link."""

    relation: str
    """The property, such as `led-by`."""
    direction: Literal["to", "from"]
    """`to` for a property of the entity that is shown, `from` for one of the other entity."""
    name: str
    """The name of the other entity, or the text of a link that leads nowhere."""
    vault: str | None
    """The vault of the other entity; null for a link that leads nowhere."""
    path: str | None
    """The path of the other entity's note."""
    valid_from: str | None
    """The day or time when the relation began to hold."""
    valid_to: str | None
    """The day or time when it ceased to hold; null while it holds."""
    holds: str | None
    """The period in words."""
    current: bool
    """Whether it holds now, or at the requested time."""


def relations_of(
    index: Index, entity: Named, at: str, *, among: Collection[int] | None = None
) -> list[Relation]:
    """The relations of an entity from both sides, without repetitions.

    With `among`, only the notes of at most `MOST` of these other entities are read.
    """
    number, vaults = entity.memory_id, {vault.name: vault for vault in index.vaults}
    note = read_note(vaults[entity.vault], entity.path)
    listed = [*_to_others(index, number, note, at), *_from_others(index, number, at, among)]
    return list(dict.fromkeys(listed))


def read_note(vault: Vault, path: str) -> Note:
    """The note of an entity as it is on the disk now."""
    return parse(path, disk.read(vault, path), vault.dialect)


def _to_others(index: Index, memory_id: int, note: Note, at: str) -> Iterator[Relation]:
    """The relations in the properties of an entity."""
    targets = {
        link.text: link.target for link in index.links([memory_id]) if link.source == memory_id
    }
    others = index.lookup([each for each in targets.values() if each is not None], fields=())
    for each in linked_values(note):
        yield each.relation("to", others.get(targets.get(each.name) or -1), at)


def _from_others(
    index: Index, memory_id: int, at: str, among: Collection[int] | None
) -> Iterator[Relation]:
    """The relations in properties of other entities whose values are links to an entity."""
    vaults = {vault.name: vault for vault in index.vaults}
    texts = links_to(index, memory_id)
    ids = [*texts] if among is None else [each for each in texts if each in among][:MOST]
    for number, other in index.lookup(ids, fields=()).items():
        if not is_entity(other):
            continue
        with suppress(OSError, DjinnError):
            note = read_note(vaults[other.vault], other.path)
            for each in linked_values(note):
                if each.name in texts[number]:
                    yield each.relation("from", other, at)


def links_to(index: Index, memory_id: int) -> dict[int, set[str]]:
    """The links to an entity from other memories, as written, by the numbers of these."""
    texts: dict[int, set[str]] = {}
    for link in index.links([memory_id]):
        if link.target == memory_id != link.source:
            texts.setdefault(link.source, set()).add(link.text)
    return texts


class LinkedValue(NamedTuple):
    """A link in a value of a property."""

    key: str
    """The property."""
    values: Timeline
    """All its values."""
    value: PastValue
    """The value with the link."""
    name: str
    """The target of the link as written."""
    label: str
    """The text that the link shows."""

    def relation(
        self, direction: Literal["to", "from"], other: IndexedMemory | None, at: str
    ) -> Relation:
        """The relation to another entity; None for a link that leads nowhere."""
        return Relation(
            relation=self.key,
            direction=direction,
            name=other.title if other else self.name,
            vault=other.vault if other else None,
            path=other.path if other else None,
            valid_from=self.value.valid_from,
            valid_to=self.value.until,
            holds=spoken_period(self.values.whole_period(self.value), at),
            current=self.values.on(at) == self.value,
        )


def linked_values(note: Note) -> Iterator[LinkedValue]:
    """The links in the values of an entity's properties."""
    for key, values in timelines(note).items():
        for value in (values.current, *values.history):
            for match in _LINK.finditer(value.value):
                target, _, label = match[1].partition("|")
                name = target.partition("#")[0].strip()
                yield LinkedValue(key, values, value, name, label or name)


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
    relations: tuple[Relation, ...] = ()
    """Its relations to other entities, from both sides. Those that hold come first."""
    mentioned: int = 0
    """How often the memories that the agent sees mention it."""
    mentions: tuple[Mention, ...] = ()
    """The newest mentions."""
    as_of: str | None = None
    """The time of the request."""


def entity_detail(
    index: Index, memory: IndexedMemory, at: str, *, as_of: bool, limit: int
) -> EntityDetail:
    """An entity as it was at a time. With `as_of`, only relations that held then are listed."""
    vaults = {vault.name: vault for vault in index.vaults}
    note = read_note(vaults[memory.vault], memory.path)
    mentions = [*occurrences(index, [memory], everyone(index))]
    relations = [each for each in relations_of(index, memory, at) if each.current or not as_of]
    relations.sort(key=lambda each: each.valid_from or "", reverse=True)
    relations.sort(key=lambda each: (not each.current, each.direction == "from"))
    return _detail(
        memory,
        note,
        at,
        relations=tuple(relations),
        mentioned=len(mentions),
        mentions=newest(index, mentions, limit),
        as_of=at if as_of else None,
    )


def written_entity(vault: Vault, path: str, at: str) -> EntityDetail:
    """An entity from its note alone, as it is on the disk: without mentions and relations."""
    return detail_in(read_note(vault, path), vault, path, at)


def detail_in(note: Note, vault: Vault, path: str, at: str) -> EntityDetail:
    """An entity from the text of its note, without mentions and relations."""
    return _detail(
        note,
        note,
        at,
        vault=vault.name,
        path=path,
        file=str(vault.root.resolve() / path),
        plane="knowledge",
        date=note.date or note.updated or note.created or at,
    )


def _detail(source: Memory | Note, note: Note, at: str, **fields: Any) -> EntityDetail:
    as_of = fields.get("as_of") is not None
    return extended(
        source,
        EntityDetail,
        aliases=note.aliases,
        confidence=share_of(dict(reversed(note.fields)).get("confidence")),
        text=description(note),
        properties=tuple(_properties(note, at, as_of=as_of)),
        **fields,
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
