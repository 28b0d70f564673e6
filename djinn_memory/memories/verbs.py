"""Operations on the memories of a home: list, find, show, count and remove."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from djinn_memory.errors import Changed, DjinnError
from djinn_memory.memories.catalog import catalog
from djinn_memory.memories.catalog.requests import (
    CatalogField,
    CountMemories,
    DeleteMemory,
    FindMemory,
    ListMemories,
    ListValues,
    PurgeMemory,
    RestoreMemory,
    ShowLinks,
    ShowMemory,
)
from djinn_memory.memories.changes import requests as changes
from djinn_memory.memories.editing import requests as editing
from djinn_memory.memories.linking import requests as linking
from djinn_memory.memories.recall.scores import MemoryScore, Scores
from djinn_memory.memories.removal.purge import PurgeReport, purge
from djinn_memory.memories.removal.restore import RestoreReport, restore
from djinn_memory.memories.writing.why import MemoryOrigin, origin_of
from djinn_memory.models import Filters, Memory, MemoryRef, Problem, extended
from djinn_memory.notes import journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.note_file import content_hash
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.backend import Index
from djinn_memory.search.suggest import unknown_values
from djinn_memory.store.index.local.sqlite_index import peeking
from djinn_memory.store.index.records import CatalogStats, IndexedMemory, Selection
from djinn_memory.store.sqlite import STORE_ERRORS

if TYPE_CHECKING:
    from djinn_memory.runtime import Runtime


class MemoryPage(Struct, frozen=True):
    """A page of a list of memories."""

    memories: tuple[Memory, ...]
    """The memories, newest first."""
    total: int
    """The number of memories on all pages."""
    problems: tuple[Problem, ...] = ()
    """Tags and types that no memory has."""


class LinkEnd(Struct, frozen=True):
    """A link, as seen from one of its two notes."""

    target: str
    """The target as written."""
    title: str | None
    """The other note's title; null while the target is unresolved or is not a note."""
    vault: str | None
    """The other note's vault."""
    path: str | None
    """The other note's path."""
    line: int
    """The line of the link, from 1; 0 for a field of the front matter."""
    field: str | None
    """The field of the front matter that holds the link; null for a link in the text."""
    embed: bool
    """Whether the link embeds its target: `![[...]]`."""
    how: str | None
    """How the target was resolved: by `path`, `title` and so on; null while it is unresolved."""
    ambiguous: bool
    """Whether the target matches other notes too."""

    @property
    def name(self) -> str:
        """The title of the other note, else the target as written."""
        return self.title or self.target


class MemoryMatch(Memory, frozen=True, kw_only=True):
    """The memory that a name means."""

    digest: str
    """The digest of its file; empty for a file that cannot be read."""


class MemoryLinks(Struct, frozen=True):
    """A memory and its links, within the vaults that the agent sees."""

    memory: Memory
    """The memory."""
    links: tuple[LinkEnd, ...]
    """Its links, in the order of the text."""
    backlinks: tuple[LinkEnd, ...]
    """Links to it."""


class MemoryWithOrigin(Memory, frozen=True, kw_only=True):
    """A whole memory, with its origin if it was requested."""

    aliases: tuple[str, ...]
    """The aliases of the note."""
    fields: dict[str, tuple[str, ...]]
    """Its front matter as text, with one or more values for each field. Nested fields have dotted
    names."""
    text: str = ""
    """The whole file including front matter, as it is on disk now."""
    links: tuple[LinkEnd, ...]
    """Its links, in the order of the text."""
    backlinks: tuple[LinkEnd, ...]
    """Links to it from the vaults that the agent sees."""
    problems: tuple[Problem, ...] = ()
    """The problem of its note; empty if there is none."""
    why: MemoryOrigin | None = None
    """The origin; null unless it was requested."""
    score: MemoryScore | None = None
    """How usage and ratings affect its rank; null unless the origin was requested."""


class MemoryDeletion(Struct, frozen=True):
    """The result of a deletion, or of its dry run."""

    memory: Memory
    """The memory that the name means."""
    moved_to: Path | None
    """The new path of its file; null if it was not moved."""
    change: str | None = None
    """The id of the change, for `djinn undo`."""


class FieldValues(Struct, frozen=True):
    """The values of a field."""

    values: tuple[str, ...]
    """The values without repetitions, in alphabetical order."""


class Memories(Namespace, name="memories"):
    """Operations on the memories of a home."""

    @operation(ListMemories)
    def list(self, request: ListMemories) -> MemoryPage:
        """List memories in the vaults that an agent sees, newest first."""
        now = self.runtime.now()
        filters = request.filters(now)
        vaults = self.runtime.fresh_scope(request.agent, filters)
        selection = Selection(filters, None if request.expired else now)
        with self.runtime.index(vaults) as index:
            memories = catalog.list_memories(index, selection, request.limit, request.skip)
            total = index.count(selection)
            problems = unknown_values(index, filters)
        return MemoryPage(tuple(extended(memory, Memory) for memory in memories), total, problems)

    @operation(ShowMemory, logs=True, positional=("name",))
    def show(self, request: ShowMemory) -> MemoryWithOrigin:
        """Show a memory with its current text, and count this as a use of it."""
        from djinn_memory.memories.recall.rating import log_use

        why: MemoryOrigin | None = None
        score: MemoryScore | None = None
        vaults = self.runtime.fresh_scope(request.agent)
        with self.runtime.index(vaults) as index:
            memory = catalog.find(index, request.name)
            links, backlinks = _links_of(index, memory)
            agent = self.runtime.home.agent(request.agent)
            if request.why:
                seen = {vault.name: vault for vault in vaults}
                why = origin_of(self._state, index, memory, seen, agent)
                [score] = Scores(self.runtime).of([memory], agent)
        [vault] = self.runtime.home.named((memory.vault,))
        text = decode(disk.read(vault, memory.path))[0]
        if memory.block is not UNSET:
            record = journal.find(memory.path, text, memory.block)
            text = f"{record.text}\n" if record else ""
        self.runtime.problems.extend(log_use(self._state, memory, agent))
        place = f"{memory.vault}/{memory.path}"
        fields: dict[str, tuple[str, ...]] = {}
        for key, value in memory.fields:
            fields[key] = (*fields.get(key, ()), value)
        return extended(
            memory,
            MemoryWithOrigin,
            fields=fields,
            text=text,
            links=links,
            backlinks=backlinks,
            problems=(Problem(place, memory.problem),) if memory.problem else (),
            why=why,
            score=score,
        )

    @operation(FindMemory)
    def find(self, request: FindMemory) -> MemoryMatch:
        """Find the memory that a name means: an id, a path, a title, an alias or a file name."""
        memory = self._find(request.name, request.agent)
        return extended(memory, MemoryMatch, digest=self._digest(memory))

    @operation(ShowLinks, positional=("name",))
    def links(self, request: ShowLinks) -> MemoryLinks:
        """Show the links from and to a memory, without counting this as a use of it."""
        with self.runtime.index(self._scope(request.agent)) as index:
            memory = catalog.find(index, request.name)
            return MemoryLinks(extended(memory, Memory), *_links_of(index, memory))

    @operation(DeleteMemory, writes=True, removes=True, positional=("name",))
    def delete(self, request: DeleteMemory) -> MemoryDeletion:
        """Move a note and its earlier versions to the trash of its vault.

        Raises `Changed` when the note's digest differs from the given one.
        """
        memory = self._find(request.name, request.agent)
        catalog.require_note(self._state, memory, "deleted")
        moved_to, change = (None, None) if request.dry_run else self._delete(memory, request)
        return MemoryDeletion(extended(memory, Memory), moved_to, change)

    @operation(editing.RenameMemory, patient=True, writes=True, positional=("name", "title"))
    def rename(self, request: editing.RenameMemory) -> editing.MemoryMove:
        """Give a note another title and file name, in one change that `djinn undo` takes back.

        Every link to the note follows, in each vault that the agent sees and that is not read-only.
        Links in journals stay, and the old title is an alias of the note while something refers to
        it. Raises `Refused` for a name that is taken, for a fact, and for a read-only vault.
        """
        from djinn_memory.memories.editing.move import rename

        return rename(self.runtime, request)

    @operation(editing.MoveMemory, patient=True, writes=True, positional=("name", "to"))
    def move(self, request: editing.MoveMemory) -> editing.MemoryMove:
        """Move a note with its earlier versions to another folder or vault.

        Links to it, and the relative links in it, follow as those of a rename do. Raises `Refused`
        when a file is there, and for a document that would leave its original.
        """
        from djinn_memory.memories.editing.move import move

        return move(self.runtime, request)

    @operation(editing.EditMemory, writes=True, positional=("name",))
    def edit(self, request: editing.EditMemory) -> editing.MemoryEdit:
        """Edit the front matter of a note, in one change that `djinn undo` takes back.

        Every other byte stays. Raises `UsageError` for a value that the field cannot have, and
        `Refused` for text that looks like a secret, and for a read-only vault.
        """
        from djinn_memory.memories.editing.fields import edit

        return edit(self.runtime, request)

    @operation(editing.WriteMemory, writes=True)
    def write(self, request: editing.WriteMemory) -> editing.WrittenMemory:
        """Write the whole text of a note, in one change that `djinn undo` takes back.

        Raises `Changed` when the note's digest differs from the given one, `UsageError` for front
        matter that is not valid YAML, and `Refused` for a new note whose place is taken, for text
        that looks like a secret, for a section of a journal, and for a read-only vault.
        """
        from djinn_memory.memories.editing.text import write

        return write(self.runtime, request)

    @operation(linking.FindRelated, positional=("name",))
    def related(self, request: linking.FindRelated) -> linking.RelatedMemories:
        """Find memories that are near in meaning to a memory, and not linked with it either way.

        The vectors of the index are compared. No model is loaded unless the memory has none yet.
        """
        from djinn_memory.memories.linking.related import related

        return related(self.runtime, request)

    @operation(changes.ShowVersions, positional=("name",))
    def versions(self, request: changes.ShowVersions) -> changes.NoteVersions:
        """Show how djinn changed a note, newest first, also through renames and moves.

        Texts from before a change are kept for a while; see `changes.undo`.
        """
        from djinn_memory.memories.changes.versions import versions_of

        vaults = self._scope(request.agent)
        with self.runtime.index(vaults) as index:
            memory = catalog.find(index, request.name)
        [vault] = (each for each in vaults if each.name == memory.vault)
        listed = islice(versions_of(self._state, vaults, vault, memory.path), request.limit)
        return changes.NoteVersions(extended(memory, Memory), tuple(listed))

    @operation(linking.FindMentions, positional=("name",))
    def mentions(self, request: linking.FindMentions) -> linking.UnlinkedMentions:
        """Find places in other notes that say a name of a note in plain text, without a link.

        Code, links, headings, front matter, quotations, comments, HTML and addresses do not count,
        nor do journals, documents and facts. Only the exact words of a title or an alias count.
        """
        from djinn_memory.memories.linking.mentions import find_mentions

        return find_mentions(self.runtime, request)

    @operation(linking.LinkMentions, patient=True, writes=True, positional=("name", "mentions"))
    def link_mentions(self, request: linking.LinkMentions) -> linking.LinkedMentions:
        """Turn mentions of a note into links, in one change that `djinn undo` takes back.

        The links are written in the dialect of their vault, show the same words and lead to the
        note alone. A note that cannot be changed is a problem. Raises `NotFound` for a mention that
        is no longer there.
        """
        from djinn_memory.memories.linking.link_mentions import link_mentions

        return link_mentions(self.runtime, request)

    @operation(linking.LinkNotes, writes=True, positional=("name", "to"))
    def link(self, request: linking.LinkNotes) -> linking.NoteLink:
        """Link a note to another, in one change that `djinn undo` takes back.

        The link is a field of the front matter if a relation is given, or if the front matter has
        links already; else a line at the end of the text. A note that has the link is not changed.
        Raises `Refused` for a read-only vault, and where the link could not lead to the note.
        """
        from djinn_memory.memories.linking.link_notes import link_notes

        return link_notes(self.runtime, request)

    @operation(RestoreMemory, writes=True, positional=("name",))
    def restore(self, request: RestoreMemory) -> RestoreReport:
        """Restore a note from the trash of its vault. Without a name, list the trash.

        Its earlier versions and the original of a document are restored too. Raises `Refused` if
        one of the files exists.
        """
        return restore(self.runtime, self.runtime.fresh_scope(request.agent), request)

    @operation(
        PurgeMemory, patient=True, writes=True, removes=True, rights="person", positional=("name",)
    )
    def purge(self, request: PurgeMemory) -> PurgeReport:
        """Remove a memory permanently, even from the trash.

        Its versions, copies and vectors are removed too, and quotations of it in the ledger. Raises
        `Refused` when other files would be removed than those given.
        """
        from djinn_memory.indexing.refresh import read

        vaults = self.runtime.fresh_scope(request.agent)
        # The name may be that of a note which is not indexed yet, because another process works.
        read(self._state, vaults)
        return purge(self._state, vaults, request)

    @operation(CountMemories)
    def stats(self, request: CountMemories) -> CatalogStats:
        """Count the memories that an agent sees, by type, plane, tag and vault."""
        filters = request.filters(self.runtime.now())
        with self.runtime.index(self._scope(request.agent, filters)) as index:
            return index.counts(Selection(filters))

    @operation(ListValues, recover=False, positional=("field",))
    def values(self, request: ListValues) -> FieldValues:
        """List the values of a field that an agent sees in the index, without refreshing it.

        This is for completion: it is fast and creates no file. Without an index the list is empty.
        """
        home = self.runtime.home
        vaults = home.scope(home.agent(request.agent))
        try:
            with peeking(home.index_path, vaults, home.grants) as index:
                return FieldValues(tuple(_values(index, request.field)))
        except STORE_ERRORS:
            return FieldValues(())

    def _find(self, name: str, agent: str | None) -> IndexedMemory:
        return catalog.find_memory(self._state, name, self.runtime.fresh_scope(agent))

    def _delete(self, memory: Memory, request: DeleteMemory) -> tuple[Path, str | None]:
        from djinn_memory.indexing.refresh import remove_notes
        from djinn_memory.memories.memory_files import files_of
        from djinn_memory.memories.writing.change_set import writing

        [vault] = self.runtime.home.named((memory.vault,))
        with writing(self.runtime, vault, "memory delete", request.agent) as writer:
            if request.digest and self._digest(memory) not in (request.digest, ""):
                raise Changed(vault.root / memory.path)
            paths = files_of(self._state, vault, memory)
            moved_to = writer.trash(paths)[-1]
        remove_notes(self._state, vault, paths)
        return moved_to, writer.changes.result.id

    def _digest(self, memory: Memory) -> str:
        [vault] = self.runtime.home.named((memory.vault,))
        try:
            return content_hash(disk.read(vault, memory.path)).hex()
        except (OSError, DjinnError):
            return ""


def linked_files(
    runtime: Runtime, memories: Iterable[MemoryRef], agent: str | None
) -> dict[str, str]:
    """The files of the notes to which memories link, by target as written."""
    vaults = {vault.name: vault for vault in runtime.home.scope(runtime.home.agent(agent))}
    files: dict[str, str] = {}
    with runtime.index(tuple(vaults.values())) as index:
        for memory in memories:
            # A note may be gone by now.
            with suppress(DjinnError):
                for link in _links_of(index, catalog.find(index, memory.address))[0]:
                    if link.vault and link.path:
                        files[link.target] = str(vaults[link.vault].root.resolve() / link.path)
    return files


def _links_of(
    index: Index, memory: IndexedMemory
) -> tuple[tuple[LinkEnd, ...], tuple[LinkEnd, ...]]:
    """The links from a memory, and the links to it."""
    links = index.links([memory.memory_id])
    ends = {end for link in links for end in (link.source, link.target) if end is not None}
    memories = index.lookup(ends, fields=())

    def other_ends(side: str, other_side: str) -> tuple[LinkEnd, ...]:
        listed = []
        for link in links:
            if getattr(link, side) != memory.memory_id:
                continue
            other = memories.get(getattr(link, other_side))
            title, vault, path = (
                (other.title, other.vault, other.path) if other else (None, None, None)
            )
            end = extended(link, LinkEnd, target=link.text, title=title, vault=vault, path=path)
            listed.append((path or "", link.line, link.start, vault or "", end))
        return tuple(end for *_, end in sorted(listed, key=lambda entry: entry[:-1]))

    return other_ends("source", "target"), other_ends("target", "source")


_SELECTED = {
    "document": ("filename", Filters(planes=("documents",))),
    "entity": ("title", Filters(planes=("knowledge",), excluded=(("type", "fact"),))),
    # Facts, relationships and skills are no kinds of entities.
    "kind": (
        "type",
        Filters(
            planes=("knowledge",),
            excluded=(("type", "fact"), ("type", "relationship"), ("type", "skill")),
        ),
    ),
    "pattern": ("title", Filters(types=("pattern",))),
    "fact": ("title", Filters(types=("fact",))),
    "category": ("category", Filters(types=("fact",))),
    "key": ("key", Filters(types=("fact",))),
}
"""The field of the index, and the notes, that the values of a field come from."""


def _values(index: Index, field: CatalogField) -> list[str]:
    """The values of a field, in alphabetical order."""
    if field not in _SELECTED:
        return index.values(field)
    column, filters = _SELECTED[field]
    return index.values(column, Selection(filters, whole_files=True))
