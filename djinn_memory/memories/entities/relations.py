"""Relations between entities: properties whose values are links, seen from both sides."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.entities.names import is_entity
from djinn_memory.memories.entities.properties import timelines
from djinn_memory.models import MemoryRef, Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.fact_note import PastValue, Timeline
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.periods import spoken_period
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
    index: Index,
    memory_id: int,
    place: MemoryRef,
    at: str,
    *,
    among: Collection[int] | None = None,
) -> list[Relation]:
    """The relations of an entity from both sides, without repetitions.

    With `among`, only the notes of at most `MOST` of these other entities are read.
    """
    vaults = {vault.name: vault for vault in index.vaults}
    note = read_note(vaults[place.vault], place.path)
    listed = [*_to_others(index, memory_id, note, at), *_from_others(index, memory_id, at, among)]
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
    for key, values, value, name in linked_values(note):
        other = others.get(targets.get(name) or -1)
        yield _relation(key, "to", other, name, values, value, at)


def _from_others(
    index: Index, memory_id: int, at: str, among: Collection[int] | None
) -> Iterator[Relation]:
    """The relations in properties of other entities whose values are links to an entity."""
    vaults = {vault.name: vault for vault in index.vaults}
    texts: dict[int, set[str]] = {}
    for link in index.links([memory_id]):
        if link.target == memory_id != link.source:
            texts.setdefault(link.source, set()).add(link.text)
    ids = [*texts] if among is None else [each for each in texts if each in among][:MOST]
    for number, other in index.lookup(ids, fields=()).items():
        if not is_entity(other):
            continue
        with suppress(OSError, DjinnError):
            note = read_note(vaults[other.vault], other.path)
            for key, values, value, name in linked_values(note):
                if name in texts[number]:
                    yield _relation(key, "from", other, name, values, value, at)


def linked_values(note: Note) -> Iterator[tuple[str, Timeline, PastValue, str]]:
    """Each link in a value of a property: key, all values, this value, and the link's target."""
    for key, values in timelines(note).items():
        for value in (values.current, *values.history):
            for match in _LINK.finditer(value.value):
                yield key, values, value, re.split(r"[|#]", match[1])[0].strip()


def _relation(
    key: str,
    direction: Literal["to", "from"],
    other: IndexedMemory | None,
    name: str,
    values: Timeline,
    value: PastValue,
    at: str,
) -> Relation:
    return Relation(
        relation=key,
        direction=direction,
        name=other.title if other else name,
        vault=other.vault if other else None,
        path=other.path if other else None,
        valid_from=value.valid_from,
        valid_to=value.until,
        holds=spoken_period(values.whole_period(value), at),
        current=values.on(at) == value,
    )
