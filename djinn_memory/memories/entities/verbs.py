"""Entities: people, places, projects, concepts and kinds of a user's own, each a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Busy, Refused, Remedy, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.entities import requests
from djinn_memory.memories.entities.detail import EntityDetail, entity_detail, written_entity
from djinn_memory.memories.entities.edit import EntityEdit, checked_kind, edit_entity
from djinn_memory.memories.entities.mentions import occurrences
from djinn_memory.memories.entities.merge import EntityMerge, merge
from djinn_memory.memories.entities.names import (
    ENTITIES,
    everyone,
    find_entity,
    named_entities,
    names_of,
    no_entity,
    same_name,
)
from djinn_memory.memories.entities.properties import (
    checked_key,
    text_of,
    with_property,
    with_structure,
)
from djinn_memory.memories.entities.resolve import (
    EntityCandidate,
    EntityResolution,
    resolve_mention,
)
from djinn_memory.memories.entities.split import EntitySplit, split
from djinn_memory.memories.facts.statements import Action, Statement, given_period
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import VaultWriter, check_writable, writing
from djinn_memory.memories.writing.drafts import Draft, draft_of
from djinn_memory.memories.writing.existing import dated
from djinn_memory.memories.writing.provenance import UNKNOWN
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Memory, Problem, Vault, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.note import parse
from djinn_memory.notes.periods import end_of_day
from djinn_memory.notes.slugs import fold, folder, name_key, slug
from djinn_memory.operations.checks import from_json
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.scoring import share_of
from djinn_memory.secrets import guard
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.index.records import IndexedMemory

_Stating = requests.AddEntity | requests.SetProperty | requests.ChangeAliases
"""A request that states something about an entity."""


class ListedEntity(Memory, frozen=True, kw_only=True):
    """An entity in a list. Its `type` is its kind, and its `title` is its name."""

    aliases: tuple[str, ...]
    """Its other names."""
    confidence: float | None
    """How certain the entity is, from 0 to 1."""
    mentioned: int
    """How often the memories that the agent sees mention it."""


class EntityPage(Struct, frozen=True):
    """A page of a list of entities."""

    entities: tuple[ListedEntity, ...]
    """The entities by name."""
    total: int
    """The number of entities on all pages."""
    kinds: dict[str, int]
    """The number of entities of each kind, also of those that the request leaves out by kind."""


class EntityView(Struct, frozen=True):
    """The entity that a name means, or the candidates if that is not sure."""

    entity: EntityDetail | None
    """The entity; null if it is not sure which one is meant."""
    candidates: tuple[EntityCandidate, ...] = ()
    """The entities that the name may mean, best first; empty for a name of one entity."""
    problems: tuple[Problem, ...] = ()
    """Problems that kept the meaning of the context from counting."""


class EntityChange(Struct, frozen=True):
    """The result of a change of an entity."""

    action: Action
    """The action that was taken; `verified` when nothing new was stated, and `recorded` for a value
    that went into the history."""
    entity: EntityDetail
    """The entity after the change, without its mentions."""
    also_named: dict[str, tuple[str, ...]] = {}
    """The names that were given and that other entities have, too, each with the places of these as
    `vault/path`. A mention of such a name needs a context."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if nothing was changed."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the note from being searchable at once."""


class EntityRemoval(Struct, frozen=True):
    """The result of a removal, or of its dry run."""

    entity: Memory
    """The entity."""
    moved_to: Path | None
    """The new path of its note; null if it was not moved."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if it was not moved."""


class Entities(Namespace, name="entities"):
    """The entities of a home."""

    @operation(requests.AddEntity, writes=True, positional=("name", "text"))
    @within(WRITE_SECONDS)
    def add(self, request: requests.AddEntity) -> EntityChange:
        """Add an entity in the vault of an agent, or in the shared vault.

        Raises `Refused` when another entity has the name and `force` is not set, and for text that
        looks like a secret.
        """
        home, now = self.runtime.home, self.runtime.now()
        kind = checked_kind(request.kind)
        pairs = [_pair(text) for text in request.properties]
        aliases = _aliases(request.aliases)
        fields: dict[str, object] = {} if kind in requests.KINDS else {"plane": "knowledge"}
        fields |= {"aliases": aliases} if aliases else {}
        memory = NewMemory(
            kind,
            request.name,
            request.text,
            confidence=request.confidence,
            fields=fields,
            allow_secret=request.allow_secret,
        )
        draft = draft_of(memory, now, home.config.secrets)
        agent = home.agent(request.agent)
        vault = home.vault_to_write(agent, shared=request.shared)
        domain = domain_to_write(self.runtime, vault, agent, request.domain)
        scope = self.runtime.fresh_scope(request.agent)
        for key, value in pairs:
            self._guard(f"{draft.title} {key}: {value}", "the property", request)
        if not request.force:
            with suppress(Busy), self.runtime.index(scope) as index:
                for other in same_name(index, draft.title):
                    raise _name_taken(other.vault, other.path, draft.title)
        with writing(self.runtime, vault, "entity add", request.agent) as writer:
            if domain is not None:
                draft = replace(draft, fields={DOMAIN: domain, **draft.fields})
            if not request.force:
                _require_free(vault, draft)
            path = writer.create(draft)[1]
            for key, value in pairs:
                _state(writer, path, key, Statement(value))
        names = (request.name, *request.aliases)
        return self._change(request, "created", writer, path, names)

    @operation(requests.ListEntities)
    def list(self, request: requests.ListEntities) -> EntityPage:
        """List the entities that an agent sees, with the number of their mentions."""
        kind, text = (fold(each or "").strip() for each in (request.kind, request.search))
        with self.runtime.index(self.runtime.fresh_scope(request.agent)) as index:
            known = named = everyone(index)
            selection, limit, skip = ENTITIES, request.limit, request.skip
            if kind:
                selection = replace(ENTITIES, filters=replace(ENTITIES.filters, types=(kind,)))
            if text:
                named = [each for each in known if any(text in fold(n) for n in names_of(each))]
                places = tuple((each.vault, each.path) for each in named)
                selection = replace(selection, places=places)
            kinds = Counter(each.type or "" for each in named)
            fields = ("confidence",)
            page = [
                *index.memories(selection, order="title", limit=limit, skip=skip, fields=fields)
            ]
            counts = Counter(each.entity for each in occurrences(index, page, known))
            shown = tuple(
                extended(
                    memory,
                    ListedEntity,
                    confidence=share_of(memory.field("confidence")),
                    mentioned=counts[memory.memory_id],
                )
                for memory in page
            )
        total = kinds[kind] if kind else kinds.total()
        return EntityPage(shown, total, dict(sorted(kinds.items())))

    @operation(requests.ShowEntity, positional=("name",))
    def show(self, request: requests.ShowEntity) -> EntityView:
        """Show an entity with its properties, relations and newest mentions.

        A name of several entities is resolved by the context. If that is not sure, the answer has
        the candidates. With `as_of`, the properties and relations are those that held then.
        """
        now = self.runtime.now()
        at = end_of_day("as_of", request.as_of, now)
        scope = self.runtime.fresh_scope(request.agent)
        answer: EntityResolution | None = None
        with self.runtime.index(scope) as index:
            entities: Sequence[IndexedMemory] = named_entities(index, request.name)
            if len(entities) != 1:
                question = requests.ResolveMention(
                    request.name, request.context or "", agent=request.agent
                )
                answer = resolve_mention(self.runtime, index, question)
                if not answer.candidates:
                    raise no_entity(index, request.name)
                if answer.entity is None:
                    return EntityView(None, answer.candidates, answer.problems)
                entities = index.resolve(answer.entity.address)
            detail = entity_detail(
                index, entities[0], at or moment(now), as_of=at is not None, limit=request.limit
            )
        return (
            EntityView(detail, answer.candidates, answer.problems) if answer else EntityView(detail)
        )

    @operation(requests.ResolveMention)
    def resolve(self, request: requests.ResolveMention) -> EntityResolution:
        """Find the entity that a mention means, by its name and by the text around it.

        `entity` is null if it is not sure which one is meant. The candidates have scores, which are
        the chances that each is meant.
        """
        with self.runtime.index(self.runtime.fresh_scope(request.agent)) as index:
            return resolve_mention(self.runtime, index, request)

    @operation(requests.SetProperty, writes=True, positional=("name", "key", "value"))
    @within(WRITE_SECONDS)
    def set(self, request: requests.SetProperty) -> EntityChange:
        """Set a property of an entity. The value before is closed and kept.

        Setting the current value again confirms it. A value whose `valid_from` is before that of
        the current one goes into the history. Raises `Refused` for text that looks like a secret.
        """
        now = self.runtime.now()
        text = writable(request.value)
        if (field := fold(request.key.strip())) in ("kind", "type", "confidence"):
            edit = (
                Remedy("entities.edit", {"name": request.name, "confidence": text}, "change it")
                if field == "confidence"
                else Remedy("entities.edit", {"name": request.name, "kind": text}, "change it")
            )
            raise UsageError(f"{request.key!r} is not a property of an entity", edit)
        key = checked_key(writable(request.key))
        parsed = from_json(text) if request.json_value else text
        value = " ".join(text_of(parsed).split())
        if not value:
            raise UsageError("the value is empty", argument="value")
        period = given_period(request.valid_from, request.valid_to, now)
        self._guard(f"{request.name} {key}: {value}", "the property", request)
        source = writable(request.source) if request.source else None
        statement = Statement(value, period, source, request.confidence)
        vault, memory = self._find(request)
        with writing(self.runtime, vault, "entity set", request.agent) as writer:
            action = _state(writer, memory.path, key, statement)
            if isinstance(parsed, (list, dict)):
                writer.rewrite(memory.path, lambda data: with_structure(data, key, parsed))
        return self._change(request, action, writer, memory.path)

    @operation(requests.EditEntity, patient=True, writes=True, positional=("name",))
    def edit(self, request: requests.EditEntity) -> EntityEdit:
        """Change the kind, the confidence or the description of an entity.

        With its kind the note moves to the folder of that kind, and links follow as those of
        `memories.move` do. Raises `Refused` for text that looks like a secret.
        """
        return edit_entity(self.runtime, request)

    @operation(requests.ChangeAliases, writes=True, positional=("action", "name", "aliases"))
    @within(WRITE_SECONDS)
    def alias(self, request: requests.ChangeAliases) -> EntityChange:
        """Add or remove aliases of an entity. Raises `UsageError` for an alias that it lacks."""
        wanted = _aliases(request.aliases)
        self._guard(f"{request.name}: {', '.join(wanted)}", "the alias", request)
        vault, memory = self._find(request)
        keys = set(map(name_key, wanted))

        def change(data: bytes) -> bytes:
            known = [*parse(memory.path, data, vault.dialect).aliases]
            if request.action == "remove":
                held = set(map(name_key, known))
                if missing := [alias for alias in wanted if name_key(alias) not in held]:
                    has = f"its aliases are {', '.join(known)}" if known else "it has none"
                    why = f"{missing[0]!r} is no alias of {memory.title!r}; {has}"
                    raise UsageError(why, argument="aliases")
                left = [alias for alias in known if name_key(alias) not in keys]
            else:
                present = {name_key(memory.title), *map(name_key, known)}
                left = known + [alias for alias in wanted if name_key(alias) not in present]
            if left == known:
                return data
            # A field `alias` becomes `aliases`.
            return dated(data, {"alias": None, "aliases": left or None}, writer.now)

        with writing(self.runtime, vault, "entity alias", request.agent) as writer:
            writer.rewrite(memory.path, change)
        given = request.aliases if request.action == "add" else ()
        return self._change(request, "changed", writer, memory.path, given)

    @operation(requests.MergeEntities, patient=True, writes=True, positional=("name", "into"))
    def merge(self, request: requests.MergeEntities) -> EntityMerge:
        """Merge an entity into another, in one change that `djinn undo` takes back.

        The note of the second keeps the text, the aliases, the id and the properties of the first
        with their histories. The note of the first is removed, and links to it lead to the second.
        Raises `Refused` when different agents may see the two, and for a read-only vault.
        """
        return merge(self.runtime, request)

    @operation(requests.SplitEntity, patient=True, writes=True, positional=("name", "other"))
    def split(self, request: requests.SplitEntity) -> EntitySplit:
        """Take a merge into an entity apart, by default the last one.

        Edits since then are kept. Raises `Refused` if a line that the merge changed was edited, and
        `NotFound` if there is no merge, or if its bytes are no longer kept.
        """
        return split(self.runtime, request)

    @operation(requests.RemoveEntity, writes=True, removes=True, positional=("name",))
    @within(WRITE_SECONDS)
    def remove(self, request: requests.RemoveEntity) -> EntityRemoval:
        """Move the note of an entity and its earlier versions to the trash of its vault."""
        from djinn_memory.indexing.refresh import remove_notes
        from djinn_memory.memories.memory_files import files_of

        vault, memory = self._find(request)
        check_writable(vault)
        entity = extended(memory, Memory)
        if request.dry_run:
            return EntityRemoval(entity, None)
        with writing(self.runtime, vault, "entity remove", request.agent) as writer:
            paths = files_of(self._state, vault, memory)
            moved_to = writer.trash(paths)[-1]
        remove_notes(self.runtime.state, vault, paths)
        return EntityRemoval(entity, moved_to, writer.changes.result.id)

    def _change(
        self,
        request: _Stating,
        action: Action,
        writer: VaultWriter,
        path: str,
        names: Sequence[str] = (),
    ) -> EntityChange:
        """The answer after a change. `names` are those that were given."""
        vault, others = writer.vault, dict[str, tuple[str, ...]]()
        own = f"{vault.name}/{path}"
        if names:
            scope = self.runtime.home.scope(self.runtime.home.agent(request.agent))
            with suppress(Busy), self.runtime.index(scope) as index:
                for name in names:
                    places = (f"{each.vault}/{each.path}" for each in same_name(index, name))
                    if listed := tuple(each for each in places if each != own):
                        others[name] = listed
        entity = written_entity(vault, path, moment(self.runtime.now()))
        change = writer.changes.result.id
        return EntityChange(action, entity, others, change, tuple(writer.problems))

    def _find(
        self, request: requests.SetProperty | requests.ChangeAliases | requests.RemoveEntity
    ) -> tuple[Vault, IndexedMemory]:
        """The entity of a request, and its vault."""
        with self.runtime.index(self.runtime.fresh_scope(request.agent)) as index:
            memory = find_entity(index, request.name)
        [vault] = self.runtime.home.named((memory.vault,))
        return vault, memory

    def _guard(self, text: str, what: str, request: _Stating) -> None:
        guard(
            text, what=what, settings=self.runtime.home.config.secrets, allow=request.allow_secret
        )


def _require_free(vault: Vault, draft: Draft) -> None:
    """Raise `Refused` if another process has just written the entity, before it was indexed."""
    path = f"{folder(draft.type)}/{slug(draft.title)}.md"
    with suppress(OSError):
        note = parse(path, disk.read(vault, path), vault.dialect)
        proposed = fold(str(dict(note.fields).get("status", ""))) in UNKNOWN
        same = note.type == draft.type and name_key(note.title) == name_key(draft.title)
        if same and not proposed:
            raise _name_taken(vault.name, path, draft.title)


def _name_taken(vault: str, path: str, name: str) -> Refused:
    return Refused(
        f"{vault}/{path} is an entity with the name {name!r}",
        Remedy("", {"force": True}, "add another entity of this name"),
    )


def _state(writer: VaultWriter, path: str, key: str, statement: Statement) -> Action:
    action: Action = "verified"

    def change(data: bytes) -> bytes:
        nonlocal action
        action, changed = with_property(data, path, writer.vault, key, statement, writer.now)
        return data if changed == data else dated(changed, {}, writer.now)

    writer.rewrite(path, change)
    return action


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = writable(text).partition("=")
    if not equals or not value.strip():
        raise UsageError(f"{text!r}: give KEY=VALUE, such as city=Gdynia", argument="properties")
    return checked_key(key, "properties"), " ".join(value.split())


def _aliases(texts: Sequence[str]) -> list[str]:
    aliases = [" ".join(writable(text).split()) for text in texts]
    for alias in aliases:
        if not any(map(str.isalnum, alias)):
            raise UsageError(f"{alias!r}: an alias has at least one letter", argument="aliases")
    unique: dict[str, str] = {}
    for alias in aliases:
        unique.setdefault(name_key(alias), alias)
    return [*unique.values()]
