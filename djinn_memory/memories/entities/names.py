"""The names of the entities that an agent sees."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound, Remedy, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import MERGED, MOST_PLACES
from djinn_memory.memories.entities.requests import KINDS
from djinn_memory.memories.writing.provenance import UNKNOWN
from djinn_memory.models import PLANES, Filters
from djinn_memory.notes.slugs import name_key
from djinn_memory.search.backend import Index
from djinn_memory.search.suggest import near_names
from djinn_memory.store.index.records import IndexedMemory, MemoryNames, Selection

_OTHERS = tuple(("type", kind) for kind in PLANES["knowledge"] if kind not in KINDS)
_NO_ENTITIES = (*_OTHERS, *(("status", status) for status in sorted(UNKNOWN)))
ENTITIES = Selection(Filters(planes=("knowledge",), excluded=_NO_ENTITIES), whole_files=True)
"""All entities: notes of the plane `knowledge` that are no facts, relationships or skills.

Earlier versions of a note, and entities that were only proposed, do not count.
"""


Named = MemoryNames | IndexedMemory
"""A memory with all its names."""


def everyone(index: Index) -> Sequence[MemoryNames]:
    """The names of all entities."""
    return index.names(ENTITIES)


def is_entity(memory: IndexedMemory) -> bool:
    """Whether a memory is an entity."""
    return not memory.block and is_entity_type(memory.plane, memory.type)


def is_entity_type(plane: str | None, kind: str | None) -> bool:
    """Whether a note of this plane and type is an entity."""
    return plane == "knowledge" and ("type", kind) not in _OTHERS


def names_of(entity: Named) -> tuple[str, ...]:
    """The names of an entity without repetitions: its title, then its aliases."""
    return tuple(dict.fromkeys((entity.title, *entity.aliases)))


def find_entity(index: Index, name: str) -> IndexedMemory:
    """Find the entity that `name` means: an id, a path, a title or an alias.

    Raises `UsageError` with the choices when several have the name, and `NotFound`.
    """
    entities = named_entities(index, name)
    if not entities:
        raise no_entity(index, name)
    if len(entities) > 1:
        places = ", ".join(f"{each.vault}/{each.path}" for each in entities[:MOST_PLACES])
        places += f" and {len(entities) - MOST_PLACES} more" if entities[MOST_PLACES:] else ""
        raise UsageError(
            f"{name!r} is the name of several entities: {places}; use one of these names"
        )
    return entities[0]


def named_entities(index: Index, name: str) -> list[IndexedMemory]:
    """The entities that a name may mean: an id, a path, a title or an alias.

    A link may lead to a note that is no entity.
    """
    by_name = {
        memory.memory_id: memory
        for memory in index.memories(replace(ENTITIES, name=name), order="title", fields=(DOMAIN,))
    }
    if by_name:
        return [*by_name.values()]
    if name.startswith("mem_"):
        # The id of an entity that was merged into another.
        filters = replace(ENTITIES.filters, where=((MERGED, name),))
        if merged := [*index.memories(replace(ENTITIES, filters=filters), fields=())]:
            return merged
    return [memory for memory in index.resolve(name) if is_entity(memory)]


def same_name(index: Index, name: str) -> list[MemoryNames]:
    """The entities with this title or alias."""
    wanted = name_key(name)
    return [
        entity
        for entity in index.names(replace(ENTITIES, name=name))
        if wanted in map(name_key, names_of(entity))
    ]


def no_entity(index: Index, name: str) -> DjinnError:
    """The error for a name that no entity has. It names a note that has the name."""
    if notes := index.resolve(name):
        kinds = ", ".join(KINDS)
        return UsageError(
            f"{notes[0].vault}/{notes[0].path} is no entity; its type must be one of {kinds}, or a "
            "type of your own beside `plane: knowledge`"
        )
    titles = {each: entity.title for entity in index.names(ENTITIES) for each in names_of(entity)}
    if near := dict.fromkeys(titles[each] for each in near_names(name, titles)):
        meant = " or ".join(map(repr, near))
        return NotFound(f"no entity {name!r}", Remedy(purpose=f"did you mean {meant}?"))
    return NotFound(f"no entity {name!r}", Remedy("entities.list", purpose="list the entities"))
