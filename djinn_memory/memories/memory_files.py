"""Finds all files of a memory, with its earlier versions, also where only the trash has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from msgspec import Struct

from djinn_memory.documents.sources import fingerprint
from djinn_memory.errors import DjinnError, NotFound, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog import catalog
from djinn_memory.memories.library import catalog as documents
from djinn_memory.memories.library.files import read_fields
from djinn_memory.memories.writing.existing import HISTORY
from djinn_memory.models import Memory, Vault
from djinn_memory.notes import journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.note_file import parse_file
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import TRASH
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.state import State
from djinn_memory.system.files import inside


class MemoryFiles(Struct, frozen=True):
    """A memory and all of its files."""

    vault: Vault
    id: str | None
    title: str
    files: tuple[str, ...]
    """Its files. The note is last, so that an interrupted purge can be repeated."""
    block: str | None = None
    """The block id, if the memory is a section of its files, which are journals."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files, and those that they had before they were moved to the trash."""
        return tuple(dict.fromkeys((*self.files, *map(_before, self.files))))

    @property
    def shown(self) -> tuple[str, ...]:
        """The files as a report names them."""
        return tuple(f"{path}#^{self.block}" if self.block else path for path in self.files)


def find_files(state: State, name: str, vaults: Sequence[Vault]) -> MemoryFiles:
    """The memory that `name` means in `vaults`, or in their trash.

    Raises `NotFound`, `UsageError` for an ambiguous name, and `Refused` for a memory whose file
    cannot be changed.
    """
    try:
        entry = _entry(state, name, vaults)
    except NotFound:
        return _trashed(state, name, vaults)
    vault = next(vault for vault in vaults if vault.name == entry.vault)
    if isinstance(entry.block, str):
        if journal.appendable(entry.path, disk.read(vault, entry.path)) is None:
            raise catalog.part_of_journal(entry, "purged")
        journals = (*_section_copies(state, vault, entry.block), entry.path)
        return MemoryFiles(vault, entry.id, entry.title, journals, entry.block)
    catalog.require_note(state, entry, "purged")
    note = parse(entry.path, disk.read(vault, entry.path), vault.dialect)
    parts = [*_parts(state, vault, entry), *versions(vault, entry.path)]
    copies = _copies(state, vault, entry.path, note, parts)
    files = dict.fromkeys((*copies, *parts, entry.path))
    return MemoryFiles(vault, note.id, note.title, tuple(files))


def _entry(state: State, name: str, vaults: Sequence[Vault]) -> IndexedMemory:
    """The memory that `name` means. For a document, it may be the name of its file."""
    try:
        return catalog.find_memory(state, name, vaults)
    except NotFound:
        document = documents.find_document(documents.stored_documents(state, vaults), name)
        return catalog.find_memory(state, f"{document.vault.name}:{document.path}", vaults)


def _parts(state: State, vault: Vault, entry: Memory) -> list[str]:
    """The original and the earlier versions of a document."""
    if entry.plane != "documents":
        return []
    for document in documents.stored_documents(state, [vault]):
        if document.path == entry.path:
            return documents.other_files(document)
    return []


def _trashed(state: State, name: str, vaults: Sequence[Vault]) -> MemoryFiles:
    """The memory in the trash that `name` means."""
    wanted = name.strip().removeprefix("[[").removesuffix("]]")
    matches: list[tuple[Vault, str, Note]] = []
    sections: dict[tuple[str, str], MemoryFiles] = {}
    for vault in vaults:
        for path, note in trashed_notes(state, vault):
            before = _before(path)
            names = (note.id, path, before, f"{vault.name}/{before}", f"{vault.name}:{before}")
            loose = (note.title, PurePosixPath(before).stem)
            if wanted in names or fold(wanted) in map(fold, loose):
                matches.append((vault, path, note))
            for block, section in _sections(state, vault, path):
                address = f"{vault.name}:{before}#^{block}"
                if wanted in (section.id, address) or fold(wanted) == fold(section.title):
                    copies = tuple(_section_copies(state, vault, block))
                    sections[vault.name, block] = MemoryFiles(
                        vault, section.id, section.title, copies, block
                    )
    if len(sections) == 1 and not matches:
        return next(iter(sections.values()))
    if sections:
        places = ", ".join(memory.id or memory.shown[-1] for memory in sections.values())
        raise UsageError(f"{name!r} is ambiguous: {places}; use one of these names")
    if not matches:
        raise NotFound(f"no note {name!r}, and none in the trash; give an id, a path or a title")
    if len({(vault.name, note.id or path) for vault, path, note in matches}) > 1:
        places = ", ".join(note.id or f"{vault.name}/{path}" for vault, path, note in matches)
        raise UsageError(f"{name!r} is ambiguous: {places}; use one of these names")
    vault, path, note = matches[0]
    parts = versions(vault, path)
    files = [*_originals(vault, path, note), *_copies(state, vault, path, note, parts), *parts]
    files = [file for file in files if file != path]
    return MemoryFiles(vault, note.id, note.title, tuple(dict.fromkeys((*files, path))))


def _copies(state: State, vault: Vault, path: str, note: Note, parts: Sequence[str]) -> list[str]:
    """The files in the trash that belong to a note or to its parts, such as earlier versions."""
    wanted = {note.id, *(read_fields(vault, part).get("id") for part in parts)}
    copies = []
    for place, copy in trashed_notes(state, vault):
        same_name = copy.title == note.title and _is_copy(_before(path), _before(place))
        if copy.id in wanted if copy.id else same_name:
            copies += [*_originals(vault, place, copy), place]
    return copies


def _section_copies(state: State, vault: Vault, block: str) -> Iterator[str]:
    """The journals in the trash that hold a section."""
    for path, _ in trashed_notes(state, vault):
        if any(block == other for other, _ in _sections(state, vault, path)):
            yield path


def _sections(state: State, vault: Vault, path: str) -> Iterator[tuple[str, Note]]:
    """The sections of a journal in the trash that a purge can remove, by block id.

    Sections that the reader of the vault may not see are left out.
    """
    before = _before(path)
    if before.startswith("journal/"):
        with suppress(OSError, DjinnError):
            data = disk.read(vault, path)
            if journal.appendable(before, data) is not None:
                for memory in parse_file(before, data, vault.dialect).memories:
                    if memory.block is None:
                        continue
                    note = memory.parse()
                    if not catalog.hides_note(state.home, vault, note):
                        yield memory.block, note


def _is_copy(path: str, other: str) -> bool:
    """Whether `other` is the name in the trash of a second file from `path`."""
    stem, end = re.escape(path.removesuffix(".md")), r"(?:-\d+)?\.md"
    return bool(re.fullmatch(stem + end, other))


def _originals(vault: Vault, place: str, note: Note) -> list[str]:
    """The original of a document in the trash, identified by its bytes."""
    fields = dict(note.fields)
    name = PurePosixPath(fields.get("original", "").strip("[]")).name
    digest, folder = fields.get("sha256"), (vault.root / place).parent
    if not name or not digest:
        return []
    originals = []
    for path in (*folder.glob(f"{PurePosixPath(place).stem}*"), folder / name):
        with suppress(OSError, DjinnError):
            if path.suffix != ".md" and (path.is_symlink() or fingerprint(path)[0] == digest):
                originals.append(path.relative_to(vault.root).as_posix())
    return originals


def trashed_notes(state: State, vault: Vault) -> Iterator[tuple[str, Note]]:
    """The paths and notes in a vault's trash that its reader may see."""
    root = vault.root / TRASH
    for path in sorted(root.rglob("*.md")) if root.is_dir() and not root.is_symlink() else ():
        name = path.relative_to(vault.root).as_posix()
        with suppress(OSError, DjinnError):
            data = disk.read(vault, name)
            if not _hides_file(state.home, vault, _before(name), data):
                yield name, parse(name, data, vault.dialect)


def _before(path: str) -> str:
    """The path of a file before it was moved to the trash, ignoring a number after its name."""
    return path.removeprefix(f"{TRASH}/")


def notes_of(memory: MemoryFiles) -> Iterator[tuple[str, Note]]:
    """The notes of a memory, or its section."""
    vault = memory.vault
    for path in memory.files:
        if not path.endswith(".md"):
            continue
        with suppress(OSError, DjinnError):
            data = disk.read(vault, path)
            if memory.block is None:
                yield path, parse(_before(path), data, vault.dialect)
                continue
            for section in parse_file(_before(path), data, vault.dialect).memories:
                if section.block == memory.block:
                    yield path, section.parse()


def files_of(state: State, vault: Vault, memory: Memory) -> list[str]:
    """The paths of a note and of the other files of its memory outside the trash, the note last."""
    others = [*_parts(state, vault, memory), *versions(vault, memory.path)]
    return [path for path in dict.fromkeys((*others, memory.path)) if not disk.trashed(path)]


def versions(vault: Vault, path: str) -> list[str]:
    """The earlier versions of a note, newest first, including those in the trash.

    They are in a folder beside it. Each next version links to the previous one.
    """
    beside = PurePosixPath(path.removeprefix(f"{TRASH}/")).parent / HISTORY
    files = {
        file.stem: f"{place}/{file.name}"
        for place in (PurePosixPath(TRASH) / beside, beside)
        if (folder := inside(vault.root, str(place))).is_dir()
        for file in folder.glob("*.md")
    }
    note = PurePosixPath(path.removeprefix(f"{TRASH}/")).with_suffix("")
    linked: list[str] = []
    while (name := _linked(read_fields(vault, path), "supersedes").name) in files:
        path = files.pop(name)
        linked.append(path)
    # A revision that was interrupted left a version that the note does not link to.
    unlinked = (
        file
        for file in files.values()
        if _linked(read_fields(vault, file), "superseded_by") == note
    )
    return [*linked, *unlinked]


def _linked(fields: dict[str, str], field: str) -> PurePosixPath:
    """The path, without extension, in a field's link."""
    return PurePosixPath(fields.get(field, "").removeprefix("[[").removesuffix("]]"))


def _hides_file(home: Home, vault: Vault, path: str, data: bytes) -> bool:
    """Whether all memories in the bytes of a file are hidden from the reader of the vault."""
    if vault.reader is None:
        return False
    file = parse_file(path, data, vault.dialect)
    return all(catalog.hides_note(home, vault, memory.parse()) for memory in file.memories)
