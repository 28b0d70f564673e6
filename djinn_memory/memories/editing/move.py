"""Renames and moves notes, in one change in which the links to them follow."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Changed, DjinnError, Refused, UsageError
from djinn_memory.home.access import is_open
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.catalog.catalog import file_name, find, require_note
from djinn_memory.memories.editing import titles
from djinn_memory.memories.editing.relinking import Place, Relinking, Stray
from djinn_memory.memories.editing.requests import LinksLeft, MemoryMove, MoveMemory, RenameMemory
from djinn_memory.memories.memory_files import versions
from djinn_memory.memories.writing.change_set import ChangeSet, attempts, change_set, check_writable
from djinn_memory.memories.writing.existing import HISTORY
from djinn_memory.models import Memory, Problem, Vault, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.frontmatter import edit_fields
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import MEMORY_MOVED, Event

READ_ONLY, IN_JOURNALS, UNEDITABLE = "read only", "in journals", "cannot be edited"
"""Why links stay."""


class Target(Struct, frozen=True):
    """What becomes of a note."""

    vault: Vault
    path: str
    title: str
    change: Callable[[bytes], bytes] = lambda data: data
    """Changes the bytes of the note."""
    heading: bool = False
    """Whether its first heading has the title, before and after."""


class MoveRequest(Protocol):
    """A request that moves a note."""

    @property
    def name(self) -> str:
        """The name of the note."""

    @property
    def agent(self) -> str | None:
        """The agent that moves it."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing is changed."""


Find = Callable[[Index, str], IndexedMemory]
"""Finds the memory that a name means, such as `catalog.find`."""

Plan = Callable[[dict[str, Vault], IndexedMemory, bytes], Target]
"""Decides what becomes of a memory, from the vaults by name and the bytes of its note."""


def rename(runtime: Runtime, request: RenameMemory) -> MemoryMove:
    """Rename a note; see `Memories.rename`."""
    title = titles.checked_title(request.title)

    def plan(vaults: dict[str, Vault], memory: IndexedMemory, data: bytes) -> Target:
        vault = vaults[memory.vault]
        if memory.type == "fact":
            raise Refused(f"{memory.title!r} is a fact, whose title is its category and its key")
        name = titles.stem_for(vault, memory.path, data, title)
        if name != PurePosixPath(memory.path).stem:
            name = file_name(vault, name)
        path = str(PurePosixPath(memory.path).with_name(f"{name}.md"))
        if (title, path) == (memory.title, memory.path):
            raise UsageError(f"{title!r} is already its title", argument="title")
        heading = titles.title_heading(memory.path, data, vault) is not None
        return Target(
            vault, path, title, lambda old: titles.titled(path, old, vault, title), heading
        )

    return moved(runtime, "memory rename", request, plan)


def move(runtime: Runtime, request: MoveMemory) -> MemoryMove:
    """Move a note; see `Memories.move`."""

    def plan(vaults: dict[str, Vault], memory: IndexedMemory, _: bytes) -> Target:
        hidden = {vault.name for vault in runtime.home.vaults} - {*vaults}
        if request.to in hidden and runtime.caller is None:
            why = f"{request.to} is the vault of another agent"
            raise Refused(f"{why}; move the note to shared, or give ./{request.to} for a folder")
        vault, folder = titles.destination(request.to, vaults, vaults[memory.vault], memory.path)
        path = str(PurePosixPath(folder) / PurePosixPath(memory.path).name)
        if (vault.name, path) == (memory.vault, memory.path):
            raise UsageError(f"{vault.name}/{path} is there already", argument="to")
        if vault.name != memory.vault and memory.plane == "documents":
            why = f"{memory.title!r} is a document, whose original stays in {memory.vault}"
            raise Refused(f"{why}; ingest the file into {vault.name} instead")
        return Target(vault, path, memory.title)

    return moved(runtime, "memory move", request, plan)


def moved(
    runtime: Runtime, command: str, request: MoveRequest, plan: Plan, find: Find = find
) -> MemoryMove:
    """Carry out what `plan` decides about a note, again if another program saves it meanwhile."""
    return attempts(lambda: _moved(runtime, command, request, plan, find))


def _moved(
    runtime: Runtime, command: str, request: MoveRequest, plan: Plan, find: Find
) -> MemoryMove:
    scope = runtime.fresh_scope(request.agent)
    # A note that is not indexed yet may have links, too.
    read(runtime.state, scope)
    with (
        change_set(runtime, command, "", request.agent, dry_run=request.dry_run) as changes,
        # The snapshot is released before the files change, because the index follows them then.
        runtime.index(scope) as index,
    ):
        memory = find(index, request.name)
        require_note(runtime.state, memory, "moved")
        relinking = Relinking(index)
        vault = relinking.vaults[memory.vault]
        check_writable(vault)
        target = plan(relinking.vaults, memory, disk.read(vault, memory.path))
        answer = _Move(runtime, changes, relinking, memory, target).add()
    if request.dry_run:
        return replace(answer, diff=changes.diff())
    problems = [*answer.problems, *changes.result.problems, *_remember(runtime, memory, target)]
    return replace(answer, change=changes.result.id, problems=tuple(problems))


def _remember(runtime: Runtime, memory: IndexedMemory, target: Target) -> Iterator[Problem]:
    """Let the uses and ratings of a note without an id follow it."""
    if not (memory.id and memory.owns_id):
        [vault] = runtime.home.named((memory.vault,))
        was = f"{vault.id}/{memory.path}"
        data = {"vault": target.vault.id, "hash": memory.hash, "was": was}
        event = Event(MEMORY_MOVED, f"{target.vault.id}/{target.path}", data)
        try:
            runtime.state.ledger.append([event])
        except DjinnError as error:
            yield Problem("ledger", f"the ratings of the note do not follow: {error}")


class _Move:
    """Adds the steps of a move to a change set."""

    def __init__(
        self,
        runtime: Runtime,
        changes: ChangeSet,
        relinking: Relinking,
        memory: IndexedMemory,
        target: Target,
    ) -> None:
        self._runtime, self._changes, self._links = runtime, changes, relinking
        self._memory, self._target = memory, target
        self._vault = relinking.vaults[memory.vault]
        self._place: Place = memory.vault, memory.path
        self._strays: list[tuple[Stray, str]] = []

    def add(self) -> MemoryMove:
        """Add all steps. Raises `Refused` if a link that stays would lead to another note."""
        to = self._target.vault.name, self._target.path
        if to != self._place:
            self._require_free(self._target.vault, self._target.path)
        self._links.change(self._place, to, self._target.title, heading=self._target.heading)
        for version, path in self._versions():
            self._links.change((self._vault.name, version), (to[0], path))
        contents, notes, number = self._rewritten()
        aliases = self._aliases()
        problems = tuple(self._dead())
        for source, (before, after) in contents.items():
            if source == self._place:
                after = self._with_aliases(self._target.change(after), aliases)
            self._step(source, before, after)
        return MemoryMove(
            replace(
                extended(self._memory, Memory),
                vault=to[0],
                path=to[1],
                title=self._target.title,
                file=str(self._target.vault.root.resolve() / to[1]),
            ),
            "/".join(self._place),
            number,
            notes,
            tuple(self._left()),
            tuple(aliases),
            problems=problems,
        )

    def _require_free(self, vault: Vault, path: str) -> None:
        if os.path.lexists(vault.root / path):
            raise Refused(f"{vault.name}/{path} exists; nothing was changed")

    def _versions(self) -> Iterator[tuple[str, str]]:
        """The earlier versions of the note, each with its path in the new folder."""
        old, new = (PurePosixPath(path).parent for path in (self._memory.path, self._target.path))
        if (self._vault.name, old) == (self._target.vault.name, new):
            return
        for version in versions(self._vault, self._memory.path):
            if not disk.trashed(version):
                path = str(new / HISTORY / PurePosixPath(version).name)
                self._require_free(self._target.vault, path)
                yield version, path

    def _rewritten(self) -> tuple[dict[Place, tuple[bytes, bytes]], tuple[str, ...], int]:
        """The bytes of notes before and after, those with changed links, and their number."""
        contents: dict[Place, tuple[bytes, bytes]] = {}
        notes, total = [], 0
        renamed = self._links.is_renamed(self._place)
        for source in dict.fromkeys((self._place, *(self._links.sources() if renamed else ()))):
            vault, moves = self._links.vaults[source[0]], self._links.moved(source) != source
            if vault.read_only or source in self._links.journals:
                continue
            try:
                before = disk.read(vault, source[1])
                after, number, strays = self._links.rewritten(source, before)
            except (OSError, DjinnError):
                if source == self._place or moves:
                    raise
                if not os.path.lexists(vault.root / source[1]):
                    # Another process renames it: the next attempt sees its links elsewhere.
                    raise Changed(vault.root / source[1]) from None
                strays = [*self._links.strays(source)]
                number = 0
            else:
                contents[source] = before, after
            self._strays += [(stray, UNEDITABLE) for stray in strays]
            total += number
            notes += ["/".join(source)] if number else []
        for source in self._links.places() if renamed else ():
            if source in self._links.journals:
                self._strays += [(stray, IN_JOURNALS) for stray in self._links.quoted(source)]
            elif self._links.vaults[source[0]].read_only:
                self._strays += [(stray, READ_ONLY) for stray in self._links.strays(source)]
        return contents, tuple(notes), total

    def _aliases(self) -> list[str]:
        """The old names by which something still refers to the note, which become aliases."""
        title, key = self._memory.title, self._links.key(self._place)
        renamed = name_key(title) != name_key(self._target.title)
        aliases: list[str] = []

        def add(alias: str) -> None:
            if fold(alias) not in map(fold, (*self._memory.aliases, *aliases)):
                aliases.append(alias)
                self._links.add_alias(self._place, alias)

        # Texts mention an entity by its name alone.
        if renamed and (self._may_be_linked_unseen() or self._memory.plane == "knowledge"):
            add(title)
        if self._may_be_linked_unseen():
            stem = PurePosixPath(self._memory.path).stem
            if stem != PurePosixPath(self._target.path).stem and renamed:
                add(stem)
        for stray, _ in self._strays:
            for alias in (title, stray.text) if renamed else (stray.text,):
                if stray.key == key and stray.kind == "wiki" and self._links.leads(stray) != key:
                    add(alias)
        return aliases

    def _may_be_linked_unseen(self) -> bool:
        """Whether notes that the caller does not see may have links to the note."""
        seen = {vault.id for vault in self._links.vaults.values()}
        others = any(vault.id not in seen for vault in self._runtime.home.vaults)
        return self._vault.reader is not None or (is_open(self._vault) and others)

    def _dead(self) -> Iterator[Problem]:
        for stray, why in self._strays:
            key, place = self._links.leads(stray), "/".join(stray.source)
            if key not in (None, stray.key):
                vault, path = self._links.place(key or 0)
                raise Refused(
                    f"{stray.text!r} in {place} ({why}) would lead to {vault}/{path}; nothing was "
                    "changed; choose another name"
                )
            if key is None:
                yield Problem(place, f"its link {stray.text!r} leads nowhere now: {why}")

    def _left(self) -> Iterator[LinksLeft]:
        counts = Counter((stray.source[0], why) for stray, why in self._strays)
        for (vault, why), links in sorted(counts.items()):
            yield LinksLeft(vault, links, why)

    def _with_aliases(self, data: bytes, aliases: list[str]) -> bytes:
        if not aliases:
            return data
        own = parse(self._memory.path, data, self._vault.dialect).aliases
        # A field `alias` becomes `aliases`.
        return edit_fields(data, {"alias": None, "aliases": [*own, *aliases]})

    def _step(self, source: Place, before: bytes, after: bytes) -> None:
        vault, (name, path) = self._links.vaults[source[0]], self._links.moved(source)
        if (name, path) != source:
            self._changes.move(vault, source[1], path, self._links.vaults[name])
        if after != before:
            self._changes.rewrite(self._links.vaults[name], path, before, after)
