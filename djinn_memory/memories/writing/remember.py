"""Writes a memory. Existing notes are not changed unless the request asks for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from itertools import chain
from typing import Literal

from msgspec import field
from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, Refused, Remedy, current_wording
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import Searchable, sweep
from djinn_memory.memories.catalog.catalog import find_memory, hidden_from, require_note
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import VaultWriter, writing
from djinn_memory.memories.writing.drafts import Draft, draft_of, link_to
from djinn_memory.memories.writing.duplicates import DuplicateFinder
from djinn_memory.memories.writing.existing import change_note, choose_note, dated
from djinn_memory.memories.writing.provenance import Provenance
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import PLANES, Memory, MemoryRef, Problem, Vault, extended, plane_of
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime
from djinn_memory.search.suggest import near_titles
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.index.records import IndexedMemory

TYPE_LIKENESS = 0.8
"""By `difflib`, `decison` is 0.93 similar to `decision`, and `meeting` 0.71 to `feeling`."""

Action = Literal["created", "appended", "revised", "numbered"]


class RememberResult(MemoryRef, frozen=True, kw_only=True):
    """A memory that was written."""

    type: str
    """The type, such as `decision`."""
    title: str
    """The title of the note. It is numbered if another note has the requested title."""
    action: Action
    """The action: `numbered` when another note already has the title."""
    previous: str | None = None
    """The path of the old version of a revised note, relative to the folder of the vault."""
    expires: str | None = None
    """The expiry time, as ISO 8601; null if none was given."""
    due: str | None = None
    """The due time, as ISO 8601; null if none was given."""
    searchable: Searchable = "later"
    """How searches find it now: by `words` until a process with a loaded model embeds it, and
    `later` when the index could not be updated at once."""
    unresolved: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Links of the request without a target, each with similar titles."""
    problems: list[Problem] = field(default_factory=list)
    """Problems other than with writing."""


@within(WRITE_SECONDS)
def remember(runtime: Runtime, request: NewMemory, command: str = "remember") -> RememberResult:
    """Write a memory as a note, in a change of `command`; see `Djinn.remember`."""
    state, home = runtime.state, runtime.home
    agent = home.agent(request.agent)
    vault = home.vault_to_write(agent, shared=request.shared)
    domain = domain_to_write(runtime, vault, agent, request.domain)
    runtime.take_in(request.agent)
    # Other vaults matter only where the same may be said, or the superseded note may be.
    scope = home.scope(agent) if request.supersedes or not request.force else (vault,)
    excluded = _excluded(home, domain)
    old = None
    if request.supersedes:
        old = _superseded(runtime, request.supersedes, scope, vault, excluded)
    # A note that all agents read does not name one that only some of them read.
    named = None
    if old and access.same_readers(home.named((old.vault,))[0], vault):
        named = old if hidden_from(home, old) == excluded else None
    draft = draft_of(request, runtime.now(), home.config.secrets, supersedes=named)
    # Before the vault is held: the model takes longer than the writing.
    duplicate, problems = None, []
    try:
        if not request.force:
            _check_type(runtime, draft.type, scope)
        finder = None if request.force else DuplicateFinder(runtime, draft, scope)
        if not old:
            sweep(state, scope)
        duplicate = finder.find() if finder else None
    except Busy as error:
        why = f"{error.message}; the memory was saved but not compared with others"
        problems.append(Problem("index", why))
    revise = request.existing == "revise"
    identity: str | None
    previous: str | None = None
    with writing(runtime, vault, command, request.agent) as writer:
        place, chosen = choose_note(state, vault, draft, request, old=old, duplicate=duplicate)
        if place is None:
            action: Action = "created" if chosen is draft else "numbered"
            if domain is not None:
                chosen = replace(chosen, fields={access.DOMAIN: domain, **chosen.fields})
            identity, path = writer.create(_with_origin(runtime, chosen, agent))
        else:
            action, path = "revised" if revise else "appended", place
            revised = _with_origin(runtime, chosen, agent) if revise else chosen
            identity, previous = change_note(writer, path, revised, revise=revise)
        link = link_to(chosen.title, path)
        if old and old.vault == vault.name:
            problems += _mark_superseded(runtime, old, link, request.agent, writer)
    problems += writer.problems
    if old and old.vault != vault.name:
        problems += _mark_superseded(runtime, old, link, request.agent)
    expires, due = (chosen.fields.get(key) for key in ("expires", "due"))
    return extended(
        chosen,
        RememberResult,
        id=identity,
        vault=vault.name,
        path=path,
        file=str(vault.root.resolve() / path),
        action=action,
        previous=previous,
        expires=expires if isinstance(expires, str) else None,
        due=due if isinstance(due, str) else None,
        searchable=writer.searchable,
        unresolved=_unresolved(runtime, request.links, home.scope(agent)),
        problems=problems,
    )


def _with_origin(runtime: Runtime, draft: Draft, agent: str) -> Draft:
    """A draft that names the program that calls, unless it was derived and names its origin."""
    if runtime.client is None or "rule" in draft.fields:
        return draft
    origin = Provenance(author=agent, client=runtime.client)
    return replace(draft, fields={**origin.fields(), **draft.fields})


def _check_type(runtime: Runtime, kind: str, scope: Sequence[Vault]) -> None:
    """Raise `Refused` for a new type whose spelling is close to a known one."""
    if plane_of(kind) != "semantic" or kind in PLANES["semantic"]:
        return
    with runtime.index(scope) as index:
        known = index.values("type")
    near = get_close_matches(kind, {*known, *chain(*PLANES.values())}, 1, TYPE_LIKENESS)
    if near and near[0] != kind:
        raise Refused(
            f"{kind!r} is a new type with a spelling close to {near[0]!r}",
            Remedy(purpose=f"use {near[0]!r} instead"),
            Remedy("", {"force": True}, "use the new type"),
        )


def _unresolved(
    runtime: Runtime, links: Sequence[str], scope: Sequence[Vault]
) -> dict[str, tuple[str, ...]]:
    """The links without a target, each with similar titles."""
    if not links:
        return {}
    with suppress(Busy), runtime.index(scope) as index:
        names = {link: re.split(r"[#|]", link.strip("[] "))[0] for link in links}
        return {
            link: tuple(near_titles(index, name))
            for link, name in names.items()
            if name and not index.resolve(name)
        }
    return {}


def _excluded(home: Home, domain: str | None) -> frozenset[str]:
    """The agents that may not see a new note with a domain."""
    grants = access.grants_of(home.grants)
    return frozenset(access.excluded(grants, [] if domain is None else [domain]))


def _superseded(
    runtime: Runtime, name: str, scope: Sequence[Vault], vault: Vault, excluded: frozenset[str]
) -> IndexedMemory:
    """The memory in `scope` that a note of `vault`, hidden from `excluded`, will supersede.

    Raises `Refused` for a memory that shares its file with others, for one in a read-only vault,
    and for one that more agents can read than the new note, because its mark would reveal the new
    note.
    """
    sweep(runtime.state, scope)
    old = find_memory(runtime.state, name, scope)
    require_note(runtime.state, old, "superseded")
    [place] = runtime.home.named((old.vault,))
    path = f"{old.vault}/{old.path}"
    alone = Remedy(purpose=f"leave {current_wording().argument('supersedes')} out")
    if not access.is_own(place):
        why = f"{path} is in a read-only vault and cannot be superseded"
        raise Refused(why, alone)
    if access.is_open(place) and not access.is_open(vault):
        raise Refused(
            f"{path} is visible to all agents, so a note in the private vault {vault.name} "
            "cannot supersede it",
            Remedy("", {"shared": True}, "write into the shared vault"),
            alone,
        )
    if not excluded <= hidden_from(runtime.home, old):
        raise Refused(
            f"{path} is visible to agents that may not see the new note, which therefore cannot "
            "supersede it",
            alone,
        )
    return old


def _mark_superseded(
    runtime: Runtime, old: Memory, link: str, agent: str | None, writer: VaultWriter | None = None
) -> Sequence[Problem]:
    """Mark a note as superseded by the note of a link. Returns the reason if this fails.

    `writer` writes the vault of the note, if it is already locked.
    """
    fields = {"status": "superseded", "superseded_by": link, "valid_to": moment(runtime.now())}
    [vault] = runtime.home.named((old.vault,))
    own = nullcontext(writer) if writer else writing(runtime, vault, "remember", agent)
    try:
        with own as marker:
            marker.rewrite(old.path, lambda data: dated(data, fields, marker.now))
    except (DjinnError, OSError) as error:
        why = f"was not marked as superseded: {getattr(error, 'strerror', None) or error}"
        return [Problem(f"{old.vault}/{old.path}", why)]
    return () if writer else marker.problems
