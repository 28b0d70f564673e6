"""Entities: people, places, projects, concepts and kinds of a user's own, each a note."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from djinn_memory.memories.entities.detail import EntityDetail, entity_detail
from djinn_memory.memories.entities.mentions import occurrences
from djinn_memory.memories.entities.merge import EntityMerge, merge
from djinn_memory.memories.entities.names import everyone, named_entity, no_entity, of_kind
from djinn_memory.memories.entities.requests import (
    AddEntity,
    ChangeAliases,
    ListEntities,
    MergeEntities,
    RemoveEntity,
    ResolveMention,
    SetProperty,
    ShowEntity,
    SplitEntity,
)
from djinn_memory.memories.entities.resolve import (
    EntityCandidate,
    EntityResolution,
    resolve_mention,
)
from djinn_memory.memories.entities.split import EntitySplit, split
from djinn_memory.memories.entities.writer import (
    EntityChange,
    EntityRemoval,
    add_entity,
    change_aliases,
    remove_entity,
    set_property,
)
from djinn_memory.models import Memory, Problem, extended
from djinn_memory.notes.dates import moment
from djinn_memory.notes.periods import end_of_day
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.store.index.records import MemoryNames


class ListedEntity(Memory, frozen=True, kw_only=True):
    """An entity in a list. Its `type` is its kind, and its `title` is its name."""

    aliases: tuple[str, ...]
    """Its other names."""
    mentioned: int
    """How often the memories that the agent sees mention it."""


class EntityPage(Struct, frozen=True):
    """A page of a list of entities."""

    entities: tuple[ListedEntity, ...]
    """The entities by name."""
    total: int
    """The number of entities on all pages."""
    kinds: dict[str, int]
    """The number of entities of each kind."""


class EntityView(Struct, frozen=True):
    """The entity that a name means, or the candidates if that is not sure."""

    entity: EntityDetail | None
    """The entity; null if it is not sure which one is meant."""
    candidates: tuple[EntityCandidate, ...] = ()
    """The entities that the name may mean, best first; empty for a name of one entity."""
    problems: tuple[Problem, ...] = ()
    """Problems that kept the meaning of the context from counting."""


class Entities(Namespace, name="entities"):
    """The entities of a home."""

    @operation(AddEntity, writes=True, positional=("name", "text"))
    def add(self, request: AddEntity) -> EntityChange:
        """Add an entity in the vault of an agent, or in the shared vault.

        Raises `Refused` when another entity has the name and `force` is not set, and for text that
        looks like a secret.
        """
        return add_entity(self.runtime, request)

    @operation(ListEntities)
    def list(self, request: ListEntities) -> EntityPage:
        """List the entities that an agent sees, with the number of their mentions."""
        with self.runtime.index(self.runtime.fresh_scope(request.agent)) as index:
            names = everyone(index)
            kinds = Counter(each.type or "" for each in index.names(of_kind(request.kind)))
            page = [
                *index.memories(
                    of_kind(request.kind),
                    order="title",
                    limit=request.limit,
                    skip=request.skip,
                    fields=(),
                )
            ]
            entities = [extended(memory, MemoryNames) for memory in page]
            counts = Counter(each.entity for each in occurrences(index, entities, names))
            listed = tuple(
                extended(memory, ListedEntity, mentioned=counts[memory.memory_id])
                for memory in page
            )
        return EntityPage(listed, kinds.total(), dict(sorted(kinds.items())))

    @operation(ShowEntity, positional=("name",))
    def show(self, request: ShowEntity) -> EntityView:
        """Show an entity with its properties, relations and newest mentions.

        A name of several entities is resolved by the context. If that is not sure, the answer has
        the candidates. With `as_of`, the properties and relations are those that held then.
        """
        now = self.runtime.now()
        at = end_of_day("as_of", request.as_of, now)
        scope = self.runtime.fresh_scope(request.agent)
        candidates: tuple[EntityCandidate, ...] = ()
        problems: tuple[Problem, ...] = ()
        with self.runtime.index(scope) as index:
            memory = named_entity(index, request.name)
            if memory is None:
                question = ResolveMention(request.name, request.context or "", agent=request.agent)
                answer = resolve_mention(self.runtime, index, question)
                candidates, problems = answer.candidates, answer.problems
                if not candidates:
                    raise no_entity(index, request.name)
                if answer.entity is None:
                    return EntityView(None, candidates, problems)
                [memory] = index.resolve(answer.entity.address)
            detail = entity_detail(
                index, memory, at or moment(now), as_of=at is not None, limit=request.limit
            )
        return EntityView(detail, candidates, problems)

    @operation(ResolveMention)
    def resolve(self, request: ResolveMention) -> EntityResolution:
        """Find the entity that a mention means, by its name and by the text around it.

        `entity` is null if it is not sure which one is meant. The candidates have scores, which are
        the chances that each is meant.
        """
        with self.runtime.index(self.runtime.fresh_scope(request.agent)) as index:
            return resolve_mention(self.runtime, index, request)

    @operation(SetProperty, writes=True, positional=("name", "key", "value"))
    def set(self, request: SetProperty) -> EntityChange:
        """Set a property of an entity. The value before is closed and kept.

        Setting the current value again confirms it. A value whose `valid_from` is before that of
        the current one goes into the history. Raises `Refused` for text that looks like a secret.
        """
        return set_property(self.runtime, request)

    @operation(ChangeAliases, writes=True, positional=("action", "name", "aliases"))
    def alias(self, request: ChangeAliases) -> EntityChange:
        """Add or remove aliases of an entity. Raises `UsageError` for an alias that it lacks."""
        return change_aliases(self.runtime, request)

    @operation(MergeEntities, patient=True, writes=True, positional=("name", "into"))
    def merge(self, request: MergeEntities) -> EntityMerge:
        """Merge an entity into another, in one change that `djinn undo` takes back.

        The note of the second keeps the text, the aliases, the id and the properties of the first
        with their histories. The note of the first is removed, and links to it lead to the second.
        Raises `Refused` when different agents may see the two, and for a read-only vault.
        """
        return merge(self.runtime, request)

    @operation(SplitEntity, patient=True, writes=True, positional=("name", "other"))
    def split(self, request: SplitEntity) -> EntitySplit:
        """Take a merge into an entity apart, by default the last one.

        Edits since then are kept. Raises `Refused` if a line that the merge changed was edited, and
        `NotFound` if there is no merge, or if its bytes are no longer kept.
        """
        return split(self.runtime, request)

    @operation(RemoveEntity, writes=True, removes=True, positional=("name",))
    def remove(self, request: RemoveEntity) -> EntityRemoval:
        """Move the note of an entity and its earlier versions to the trash of its vault."""
        return remove_entity(self.runtime, request)
