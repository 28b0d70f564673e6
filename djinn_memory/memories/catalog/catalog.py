"""Memories in the index: how to find one, its name in the ledger, and from whom it is hidden."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import UNSET, Struct

from djinn_memory.errors import NotFound, Refused, Remedy, Unavailable, UsageError
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.models import Filters, Memory, MemoryRef, Vault
from djinn_memory.notes import frontmatter, journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.note import Note, domains_of, parse
from djinn_memory.notes.vault import on_disk, walk
from djinn_memory.search.backend import Index
from djinn_memory.search.suggest import near_titles
from djinn_memory.store.index.memories import shares_file
from djinn_memory.store.index.records import IndexedMemory, Selection, TitledRef
from djinn_memory.store.state import State

MERGED = "merged"
"""The field with the ids of the memories that were merged into one. Their events count for it."""

MOST_PLACES = 5
"""Places that the error for an ambiguous name lists."""

_DIARY = re.compile(r"\d{4}[-_.]?[01]\d[-_.]?[0-3]\d")


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


def _is_present(index: Index, memory: Memory) -> bool:
    vault = next(vault for vault in index.vaults if vault.name == memory.vault)
    return on_disk(vault, memory.path)


def body_of(vault: Vault, memory: MemoryRef) -> str:
    """The current text of a memory on disk, without front matter or the marks of a journal."""
    data = disk.read(vault, memory.path)
    if memory.block is UNSET:
        return frontmatter.text_of(data)
    record = journal.find(memory.path, decode(data)[0], memory.block)
    return record.words if record else ""


def text_for_people(vault: Vault, memory: Memory) -> str:
    """As `body_of`; the history of a fact is in words, and an entity has the values that hold."""
    text = body_of(vault, memory)
    if memory.plane != "knowledge":
        return text
    # Imported here: few memories are facts or entities.
    from djinn_memory.notes.fact_note import readable, with_current_values

    return readable(text) if memory.type == "fact" else with_current_values(text)


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


class LedgerName(Struct, frozen=True):
    """The name of a memory in events."""

    memory: str
    """Its id, else `<vault uuid>/<path>`."""
    hash: str | None
    """The hash of its text, which identifies it after a rename; None for a memory with an id."""
    place: str
    """`<vault uuid>/<path>`, also for a memory with an id."""


def ledger_name(memory: IndexedMemory, vault: Vault) -> LedgerName:
    """The name of a memory of this vault in the ledger.

    When several memories share an id, the oldest keeps it; memories that all agents see come before
    those of one agent. The others are identified by path, and sections of a journal also by block
    id.
    """
    place = f"{vault.id}/{memory.path}"
    if memory.block:
        place = f"{place}#^{memory.block}"
    if memory.id and memory.owns_id:
        return LedgerName(memory.id, None, place)
    return LedgerName(place, memory.hash, place)


def located(index: Index, names: Collection[str]) -> dict[str, IndexedMemory]:
    """The memories that still exist, by their names in the ledger."""
    vaults = {vault.name: vault for vault in index.vaults}
    by_uuid = {vault.id: vault.name for vault in index.vaults}
    places = [name.partition("#^")[0].partition("/") for name in names if "/" in name]
    at = tuple((by_uuid[uuid], path) for uuid, _, path in places if uuid in by_uuid)
    memories: dict[str, IndexedMemory] = {}
    for selection in (Selection(ids=tuple(names)), Selection(places=at)):
        for memory in index.memories(selection):
            place = ledger_name(memory, vaults[memory.vault]).place
            memories |= {name: memory for name in (place, memory.id) if name}
    missing = {*names}.difference(memories)
    for name in sorted(missing.intersection(index.values(MERGED))) if missing else ():
        filters = Filters(where=((MERGED, name),))
        for memory in index.memories(Selection(filters), limit=1):
            memories[name] = memory
    return memories


def seen_names(state: State, agent: str, names: Collection[str]) -> set[str]:
    """Those of some names in the records of an agent that it may see in the running call.

    The records of an agent are about what it sees, but a key may hide some of that.
    """
    if not (names and access.is_limited()):
        return {*names}
    with state.reading(state.home.scope(agent)) as index:
        return {*names} & located(index, names).keys()


def domains_in(memories: Iterable[IndexedMemory]) -> Iterator[str]:
    """The domains of memories, whose field `domain` was loaded."""
    for memory in memories:
        yield from (value for key, value in memory.fields if key == access.DOMAIN)


def hidden_from(home: Home, memory: IndexedMemory) -> frozenset[str]:
    """The agents from which the domains of a memory hide it. Its field `domain` was loaded."""
    return frozenset(access.excluded(access.grants_of(home.grants), domains_in([memory])))


def file_name(vault: Vault, name: str) -> str:
    """The name of a new file without its extension.

    A limited agent's ends in four random characters. A number after the name would tell the agent
    that a hidden file has the name.
    """
    return name if vault.reader is None else f"{name}-{crockford(20)}"


def hides_note(home: Home, vault: Vault, note: Note) -> bool:
    """Whether the domains of a note hide it from the reader of the vault."""
    return vault.reader is not None and home.hides(vault, domains_of(note))
