"""Writes the notes of entities, and leaves all other bytes of the notes unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from djinn_memory.errors import Busy, Refused, Remedy, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.entities.names import find_entity, same_name
from djinn_memory.memories.entities.properties import checked_key, with_property
from djinn_memory.memories.entities.requests import (
    KINDS,
    AddEntity,
    ChangeAliases,
    RemoveEntity,
    SetProperty,
)
from djinn_memory.memories.facts.statements import Action, Statement
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import VaultWriter, check_writable, writing
from djinn_memory.memories.writing.drafts import Draft, draft_of
from djinn_memory.memories.writing.existing import dated
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import PLANES, Problem, Vault, plane_of
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.frontmatter import edit_fields
from djinn_memory.notes.note import parse
from djinn_memory.notes.periods import Period, first_day, given_date
from djinn_memory.notes.slugs import fold, folder, name_key, slug
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.index.records import IndexedMemory, MemoryNames

PROFILE = "profile"
"""The type of the note about an agent, which is no entity."""

Written = tuple[Vault, str, list[Problem]]
"""The vault and the path of a note that was written, and problems with its index."""


@within(WRITE_SECONDS)
def add_entity(runtime: Runtime, request: AddEntity) -> Written:
    """Write the note of a new entity; see `Entities.add`."""
    home, now = runtime.home, runtime.now()
    kind = fold(request.kind).strip()
    taken = plane_of(kind) != "semantic" or kind in PLANES["semantic"] or kind == PROFILE
    if kind not in KINDS and taken:
        choices = ", ".join(KINDS)
        why = f"{kind!r} is a type of other memories; give one of {choices}, or a kind of your own"
        raise UsageError(why, argument="kind")
    pairs = [_pair(text) for text in request.properties]
    aliases = _aliases(request.aliases)
    fields: dict[str, object] = {} if kind in KINDS else {"plane": "knowledge"}
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
    domain = domain_to_write(runtime, vault, agent, request.domain)
    scope = runtime.fresh_scope(request.agent)
    for key, value in pairs:
        _guard(runtime, draft.title, key, value, allow=request.allow_secret)
    if not request.force:
        with suppress(Busy), runtime.index(scope) as index:
            _require_new(same_name(index, draft.title), draft)
    with writing(runtime, vault, "entity add", request.agent) as writer:
        if domain is not None:
            draft = replace(draft, fields={DOMAIN: domain, **draft.fields})
        if not request.force:
            _require_free(vault, draft)
        path = writer.create(draft)[1]
        for key, value in pairs:
            statement = Statement(value, _given(None, None))
            _state(writer, path, key, statement)
    return vault, path, writer.problems


def _require_free(vault: Vault, draft: Draft) -> None:
    """Raise `Refused` if another process has just written the entity, before it was indexed."""
    path = f"{folder(draft.type)}/{slug(draft.title)}.md"
    with suppress(OSError):
        note = parse(path, disk.read(vault, path), vault.dialect)
        if note.type == draft.type and name_key(note.title) == name_key(draft.title):
            raise _name_taken(vault.name, path, draft.title)


def _require_new(entities: Sequence[MemoryNames], draft: Draft) -> None:
    if entities:
        other = entities[0]
        raise _name_taken(other.vault, other.path, draft.title)


def _name_taken(vault: str, path: str, name: str) -> Refused:
    return Refused(
        f"{vault}/{path} is an entity with the name {name!r}",
        Remedy("", {"force": True}, "add another entity of this name"),
    )


@within(WRITE_SECONDS)
def set_property(runtime: Runtime, request: SetProperty) -> tuple[Action, Written]:
    """Set a property of an entity; see `Entities.set`."""
    now = runtime.now()
    key = checked_key(writable(request.key))
    value = " ".join(writable(request.value).split())
    if not value:
        raise UsageError("the value is empty", argument="value")
    start = given_date("valid_from", request.valid_from, now)
    period = Period(start and first_day(start), given_date("valid_to", request.valid_to, now))
    _guard(runtime, request.name, key, value, allow=request.allow_secret)
    source = writable(request.source) if request.source else None
    statement = Statement(value, _given(source, request.confidence), period)
    vault, memory = _find(runtime, request.name, request.agent)
    with writing(runtime, vault, "entity set", request.agent) as writer:
        action = _state(writer, memory.path, key, statement)
    return action, (vault, memory.path, writer.problems)


def _state(writer: VaultWriter, path: str, key: str, statement: Statement) -> Action:
    action: Action = "verified"

    def change(data: bytes) -> bytes:
        nonlocal action
        action, changed = with_property(data, path, writer.vault, key, statement, writer.now)
        return data if changed == data else dated(changed, {}, writer.now)

    writer.rewrite(path, change)
    return action


@within(WRITE_SECONDS)
def change_aliases(runtime: Runtime, request: ChangeAliases) -> Written:
    """Add or remove aliases of an entity; see `Entities.alias`."""
    wanted = _aliases(request.aliases)
    guard(
        f"{request.name}: {', '.join(wanted)}",
        what="the alias",
        settings=runtime.home.config.secrets,
        allow=request.allow_secret,
    )
    vault, memory = _find(runtime, request.name, request.agent)
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
        return dated(_with_aliases(data, left), {}, writer.now)

    with writing(runtime, vault, "entity alias", request.agent) as writer:
        writer.rewrite(memory.path, change)
    return vault, memory.path, writer.problems


def _with_aliases(data: bytes, aliases: Sequence[str]) -> bytes:
    """The bytes of a note with these aliases. A field `alias` becomes `aliases`."""
    return edit_fields(data, {"alias": None, "aliases": [*aliases] or None})


@within(WRITE_SECONDS)
def remove_entity(runtime: Runtime, request: RemoveEntity) -> tuple[IndexedMemory, Path | None]:
    """Move the note of an entity and its earlier versions to the trash; see `Entities.remove`."""
    from djinn_memory.indexing.refresh import remove_notes
    from djinn_memory.memories.writing.memory_files import trash_memory

    vault, memory = _find(runtime, request.name, request.agent)
    check_writable(vault)
    if request.dry_run:
        return memory, None
    with runtime.state.vault_lock(vault):
        moved_to, paths = trash_memory(runtime.state, vault, memory)
    remove_notes(runtime.state, vault, paths)
    return memory, moved_to


def _find(runtime: Runtime, name: str, agent: str | None) -> tuple[Vault, IndexedMemory]:
    with runtime.index(runtime.fresh_scope(agent)) as index:
        memory = find_entity(index, name)
    [vault] = runtime.home.named((memory.vault,))
    return vault, memory


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


def _given(source: str | None, confidence: float | None) -> dict[str, object]:
    return {
        "source": source,
        "source_context": None,
        "confidence": confidence,
        "expires": None,
    }


def _guard(runtime: Runtime, name: str, key: str, value: str, *, allow: bool) -> None:
    settings = runtime.home.config.secrets
    guard(f"{name} {key}: {value}", what="the property", settings=settings, allow=allow)
