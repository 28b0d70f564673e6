"""The catalog of memories: list, find, describe and count them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import UNSET, Struct

from djinn_memory.errors import NotFound, Refused, Remedy, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.requests import CatalogField
from djinn_memory.models import Filters, Memory, MemoryRef, Problem, Vault, extended
from djinn_memory.notes import journal
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.markdown import body
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.files import on_disk
from djinn_memory.notes.vault.walk import walk
from djinn_memory.search.backend import Index
from djinn_memory.search.suggest import near_titles
from djinn_memory.store.index.memories import shares_file
from djinn_memory.store.index.records import IndexedMemory, Selection, TitledRef
from djinn_memory.store.state import State

MOST_PLACES = 5
"""Places that the error for an ambiguous name lists."""

_DIARY = re.compile(r"\d{4}[-_.]?[01]\d[-_.]?[0-3]\d")


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


Links = tuple[LinkEnd, ...]


class MemoryDetail(Memory, frozen=True, kw_only=True):
    """A whole memory."""

    aliases: tuple[str, ...]
    """The aliases of the note."""
    fields: dict[str, tuple[str, ...]]
    """Its front matter as text, with one or more values for each field. Nested fields have dotted
    names."""
    text: str = ""
    """The whole file including front matter, as it is on disk now."""
    links: Links
    """Its links, in the order of the text."""
    backlinks: Links
    """Links to it from the vaults that the agent sees."""
    problems: tuple[Problem, ...] = ()
    """The problem of its note; empty if there is none."""


def as_memory(memory: Memory) -> Memory:
    """The basic fields of a more detailed memory record."""
    return extended(memory, Memory)


def list_memories(
    index: Index, selection: Selection, limit: int, skip: int = 0
) -> list[IndexedMemory]:
    """List memories of a selection that are still on the disk, newest first."""
    memories = index.memories(selection, fields=())
    present = (memory for memory in memories if _is_present(index, memory))
    return list(islice(present, skip, skip + limit))


def find(index: Index, name: str) -> IndexedMemory:
    """Find the memory that `name` means: an id, a path, a title, an alias or a file name.

    A path may begin with `vault/`; `vault:path` is never ambiguous. It may be absolute. A suffix
    such as `:12` or `:12-20` is ignored. Names resolve as links do, except that a name ending with
    `.md` means a file. Raises `NotFound`, or `UsageError` with the choices when several notes
    match.
    """
    memories = index.resolve(name) or index.resolve(_place(index, name))
    if len(memories) > 1:
        places = ", ".join(memory.address for memory in memories[:MOST_PLACES])
        places += f" and {len(memories) - MOST_PLACES} more" if memories[MOST_PLACES:] else ""
        raise UsageError(f"{name!r} is ambiguous: {places}; use one of these names")
    if not memories or not _is_present(index, memories[0]):
        near = near_titles(index, name)
        if near:
            meant = " or ".join(map(repr, near))
            raise NotFound(f"no note {name!r}", Remedy(purpose=f"did you mean {meant}?"))
        remedy = Remedy("memories.list", purpose="list the notes")
        raise NotFound(f"no note {name!r}; give an id, a path or a title", remedy)
    return memories[0]


def _place(index: Index, name: str) -> str:
    """A location as outputs show it, with lines or as an absolute path, as `vault:path`."""
    path = re.sub(r":\d+(-\d+)?$", "", name).removeprefix("./")
    if Path(path).is_absolute():
        file = Path(path).resolve()
        for vault in index.vaults:
            root = vault.root.resolve()
            # Of a vault in a vault the inner one has the note.
            if file.is_relative_to(root) and on_disk(vault, inner := file.relative_to(root)):
                address = f"{vault.name}:{inner.as_posix()}"
                if index.resolve(address):
                    return address
    return path


def is_diary(memory: IndexedMemory) -> bool:
    """Whether a note tells of the day in its path."""
    return memory.type is None and bool(_DIARY.search(memory.path))


def require_note(state: State, memory: IndexedMemory, change: str) -> None:
    """Raise `Refused` for a memory that shares its file with others, as a change would affect them.

    `change` describes the change in the message, such as `deleted`.
    """
    if shares_file(state.index, memory.memory_id):
        raise part_of_journal(memory, change)


def part_of_journal(memory: TitledRef | IndexedMemory, change: str, *remedies: Remedy) -> Refused:
    """The error for a change of a memory that would affect other memories of its journal."""
    return Refused(
        f"{memory.title!r} is a section of the journal {memory.vault}/{memory.path} and cannot be "
        f"{change} by itself; edit that file instead",
        *remedies,
    )


def find_memory(state: State, name: str, vaults: Sequence[Vault]) -> IndexedMemory:
    """Find the memory that `name` means in some vaults; see `find`."""
    with state.reading(vaults) as index:
        return find(index, name)


def detail(index: Index, memory: IndexedMemory) -> MemoryDetail:
    """The indexed data of a memory, with its links in both directions."""
    fields: dict[str, tuple[str, ...]] = {}
    for key, value in memory.fields:
        fields[key] = (*fields.get(key, ()), value)
    place = f"{memory.vault}/{memory.path}"
    links, backlinks = links_of(index, memory)
    return extended(
        memory,
        MemoryDetail,
        fields=fields,
        links=links,
        backlinks=backlinks,
        problems=(Problem(place, memory.problem),) if memory.problem else (),
    )


def links_of(index: Index, memory: IndexedMemory) -> tuple[Links, Links]:
    """The links from a memory, and the links to it."""
    links = index.links([memory.memory_id])
    ends = {end for link in links for end in (link.source, link.target) if end is not None}
    memories = index.lookup(ends, fields=())

    def other_ends(side: str, other_side: str) -> Links:
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


_NO_KINDS = ("fact", "relationship", "skill")
"""Types of the plane `knowledge` that are no kinds of entities."""


def values(index: Index, field: CatalogField) -> list[str]:
    """The values of a field, in alphabetical order."""
    if field == "document":
        return index.values("filename", Selection(Filters(planes=("documents",)), whole_files=True))
    if field == "entity":
        known = Filters(planes=("knowledge",), excluded=(("type", "fact"),))
        return index.values("title", Selection(known, whole_files=True))
    if field == "kind":
        known = Filters(planes=("knowledge",), excluded=tuple(("type", kind) for kind in _NO_KINDS))
        return index.values("type", Selection(known, whole_files=True))
    if field == "pattern":
        return index.values("title", Selection(Filters(types=("pattern",)), whole_files=True))
    if field in ("fact", "category", "key"):
        name = "title" if field == "fact" else field
        return index.values(name, Selection(Filters(types=("fact",)), whole_files=True))
    return index.values(field)


def _is_present(index: Index, memory: Memory) -> bool:
    vault = next(vault for vault in index.vaults if vault.name == memory.vault)
    return on_disk(vault, memory.path)


def body_of(vault: Vault, memory: MemoryRef) -> str:
    """The current text of a memory on disk, without front matter or the marks of a journal."""
    data = disk.read(vault, memory.path)
    if memory.block is UNSET:
        return body.text_of(data)
    record = journal.find(memory.path, decode(data)[0], memory.block)
    return record.words if record else ""


def notes_on_disk(
    home: Home, vault: Vault, pattern: re.Pattern[bytes]
) -> Iterator[tuple[str, Note]]:
    """The paths and notes of the files of a vault in which a pattern occurs.

    This costs a read of every file. Raises `OSError`, or `Unavailable`, for a file or folder that
    cannot be read.
    """
    listing = walk(vault, home.config.exclude)
    if listing.unseen:
        raise Unavailable(f"{vault.name}/{listing.unseen[0]} cannot be read; check its permissions")
    for file in listing.files:
        data = disk.read(vault, file.path)
        if pattern.search(data):
            yield file.path, parse(file.path, data, vault.dialect)
