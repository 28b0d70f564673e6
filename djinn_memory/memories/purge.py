"""Removes a memory permanently: its note, all copies, and all traces in the databases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.documents.sources import fingerprint
from djinn_memory.errors import DjinnError, NotFound, Refused, Unavailable, UsageError
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.indexing.indexer import cut, resolve_links, update
from djinn_memory.memories.catalog.catalog import find_memory, part_of_journal, require_note
from djinn_memory.memories.catalog.requests import PurgeMemory
from djinn_memory.memories.facts.note_format import history_of, value_of
from djinn_memory.memories.facts.requests import CONFIDENCES
from djinn_memory.memories.facts.writer import FACT
from djinn_memory.memories.library import catalog as documents
from djinn_memory.memories.library.catalog import history, original_path, read_fields
from djinn_memory.memories.writing.versions import versions
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import journal
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.note_file import parse_file
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.files import TRASH
from djinn_memory.store.erasing import erase
from djinn_memory.store.expiring import forget
from djinn_memory.store.index import memories, words
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger.redaction import phrases, redacted
from djinn_memory.store.sqlite import transaction
from djinn_memory.store.state import State
from djinn_memory.system.files import inside

SENTENCE = 20
"""Minimum length at which text inside a value identifies the memory. Shorter text, such as a title,
may be an ordinary word, and the value, which is removed completely, may belong to another agent."""


class PurgeReport(Struct, frozen=True):
    """The result of a purge, or of its dry run."""

    id: str | None
    """`mem_` and 16 characters; null for a note without an id."""
    title: str
    """The title of the memory."""
    vault: str
    """The name of its vault."""
    files: tuple[str, ...]
    """Its note, earlier versions, originals and copies in the trash, relative to the vault. For a
    section of a journal, its file with `#^` and the block id: the other sections stay."""
    vectors: int = 0
    """The number of its texts whose vectors were removed from the cache."""
    events: int = 0
    """The number of the agent's events that quoted its title or text."""
    values: int = 0
    """The number of values in the agent's working memory that quoted its title or text."""
    problems: list[Problem] = field(default_factory=list)
    """Problems that may leave a part of it behind."""
    purged: bool = False
    """Whether it was removed; false for a dry run."""


class _Doomed(Struct, frozen=True):
    """A memory that will be removed."""

    vault: Vault
    id: str | None
    title: str
    files: tuple[str, ...]
    """Its files. The note is last, so that an interrupted purge can be repeated."""
    block: str | None = None
    """The block id of the section of a journal that is removed from its only file."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The files as a report names them."""
        return tuple(f"{path}#^{self.block}" if self.block else path for path in self.files)


def purge(state: State, vaults: Sequence[Vault], request: PurgeMemory) -> PurgeReport:
    """Remove the memory that a name means in `vaults`, even if it is already in the trash."""
    doomed = _doomed(state, request.name, vaults)
    report = PurgeReport(doomed.id, doomed.title, doomed.vault.name, doomed.shown)
    if request.dry_run:
        return report
    if request.files is not None and tuple(request.files) != doomed.shown:
        raise Refused(f"the files of {request.name!r} have changed; check them, then purge again")
    if doomed.vault.read_only:
        raise Refused(f"vault {doomed.vault.name} is read-only; remove its files yourself")
    notes = list(_notes(doomed))
    state.need_writable()
    texts = [text for _, note in notes for text in _texts(note)]
    hashes = {key for _, note in notes for key in _hashes(note, doomed.vault)}
    # The files last: while they are there all of it can be done again.
    ledger = state.ledger_if_any
    agent = state.home.agent(request.agent)
    events = ledger.redact(texts, agent, _may_quote(state.home, doomed.vault)) if ledger else 0
    values = _forget_values(state, texts, agent, doomed.vault)
    with state.lock():
        if doomed.block:
            # The file first: what is left of a failure is the section, and the index has it.
            with state.vault_lock(doomed.vault):
                _remove_section(doomed)
            update(state, [doomed.vault], only=doomed.files[-1:])
        with transaction(state.index):
            memories.forget(state.index, doomed.vault, doomed.files, doomed.block)
            words.compact(state.index)
        # What hidden notes share stays too, and is counted as if it went.
        vectors = len(hashes - memories.window_hashes(state.index, vaults))
        if state.home.embeddings_path.exists():
            state.cache.remove(hashes - memories.window_hashes(state.index))
        if not doomed.block:
            with state.vault_lock(doomed.vault):
                _remove_files(doomed)
        resolve_links(state)
    problems = list(_erase(state))
    return replace(
        report, vectors=vectors, events=events, values=values, problems=problems, purged=True
    )


def _remove_files(doomed: _Doomed) -> None:
    for path in doomed.files:
        inside(doomed.vault.root, str(PurePosixPath(path).parent))
        (doomed.vault.root / path).unlink(missing_ok=True)


def _remove_section(doomed: _Doomed) -> None:
    """Remove the section from its journal and from copies of it in the trash, by exchange."""
    for path in doomed.files:
        disk.edit(doomed.vault, path, partial(_without, doomed, path))


def _without(doomed: _Doomed, path: str, data: bytes) -> bytes:
    if journal.appendable(path, data) is None:
        raise Refused(
            f"{doomed.vault.name}/{path} was changed by another program; remove the section there"
        )
    return journal.without(path, doomed.block or "", data)


def _may_quote(home: Home, vault: Vault) -> Callable[[Mapping[str, object]], bool]:
    """A test that decides from an event's data whether it may quote a memory of a vault.

    Only agents who could read the memory can quote it. Identical words of other agents are kept, so
    that they cannot learn what was purged.
    """
    vaults = {other.id for other in home.vaults if access.same_readers(other, vault)}

    def may_quote(data: Mapping[str, object]) -> bool:
        agent, place = data.get("agent", vault.agent), data.get("vault", vault.id)
        return access.is_open(vault) or (agent == vault.agent and place in vaults)

    return may_quote


def _forget_values(state: State, texts: Sequence[str], own: str, vault: Vault) -> int:
    """Remove values with these texts from working memory. Returns the number from `own`.

    Only readers of the vault, and agents with whom they shared values, can have such values.
    """
    if not (state.home.config.working_memory or state.home.working_path.exists()):
        return 0
    wanted, counts = phrases(texts), Counter[str]()
    for agent in state.home.config.agents:
        for entry in state.working.entries(agent)[0]:
            whole = {entry.key: msgspec.json.decode(entry.value)}
            source = entry.name if entry.space == "from" else agent
            if not (access.may_read(vault, agent) or access.may_read(vault, source)):
                continue
            if redacted(whole, wanted, frozenset(), contained=SENTENCE) != whole:
                state.working.change(entry.slot, forget(entry))
                counts[agent] += 1
    if counts:
        state.working.erase()
    return counts[own]


def _erase(state: State) -> Iterator[Problem]:
    """Remove deleted content from the bytes of the index, and delete copies that were set aside."""
    try:
        erase(state.index)
    except Unavailable as error:
        yield Problem(str(state.home.index_path), str(error))
    for path in sorted(state.home.state.glob("*.db.corrupt-*")):
        if path.name.startswith(state.home.ledger_path.name):
            yield Problem(
                str(path), "was set aside and may still contain the memory; delete it if you can"
            )
        else:
            # An index or a cache: all that it holds can be made anew.
            path.unlink(missing_ok=True)


def _doomed(state: State, name: str, vaults: Sequence[Vault]) -> _Doomed:
    try:
        entry = _entry(state, name, vaults)
    except NotFound:
        return _trashed(name, vaults)
    [vault] = state.home.named((entry.vault,))
    if isinstance(entry.block, str):
        if journal.appendable(entry.path, disk.read(vault, entry.path)) is None:
            raise part_of_journal(entry, "purged")
        journals = (*_section_copies(vault, entry.block), entry.path)
        return _Doomed(vault, entry.id, entry.title, journals, entry.block)
    require_note(state, entry, "purged")
    note = parse(entry.path, disk.read(vault, entry.path), vault.dialect)
    parts = [*_parts(state, vault, entry), *versions(vault, entry.path)]
    copies = _copies(
        vault, entry.path, note, [read_fields(vault, path).get("id") for path in parts]
    )
    files = dict.fromkeys((*copies, *parts, entry.path))
    return _Doomed(vault, note.id, note.title, tuple(files))


def _entry(state: State, name: str, vaults: Sequence[Vault]) -> IndexedMemory:
    """The memory that `name` means. For a document, it may be the name of its file."""
    try:
        return find_memory(state, name, vaults)
    except NotFound:
        document = documents.find_document(documents.stored_documents(state, vaults), name)
        return find_memory(state, f"{document.vault.name}:{document.path}", vaults)


def _parts(state: State, vault: Vault, entry: IndexedMemory) -> list[str]:
    """The original and the earlier versions of a document."""
    if entry.plane != "documents":
        return []
    for document in documents.stored_documents(state, [vault]):
        if document.path == entry.path:
            original = original_path(document)
            return [*([original] if original else []), *history(document)]
    return []


def _trashed(name: str, vaults: Sequence[Vault]) -> _Doomed:
    """The memory in the trash that `name` means."""
    wanted = name.strip().removeprefix("[[").removesuffix("]]")
    matches: list[tuple[Vault, str, Note]] = []
    for vault in vaults:
        for path, note in _trash(vault):
            before = _before(path)
            names = (note.id, path, before, f"{vault.name}/{before}", f"{vault.name}:{before}")
            loose = (note.title, PurePosixPath(before).stem)
            if wanted in names or fold(wanted) in map(fold, loose):
                matches.append((vault, path, note))
    if not matches:
        raise NotFound(f"no note {name!r}, and none in the trash; give an id, a path or a title")
    if len({(vault.name, note.id or path) for vault, path, note in matches}) > 1:
        places = ", ".join(note.id or f"{vault.name}/{path}" for vault, path, note in matches)
        raise UsageError(f"{name!r} is ambiguous: {places}; use one of these names")
    vault, path, note = matches[0]
    parts = versions(vault, path)
    ids = [read_fields(vault, part).get("id") for part in parts]
    files = [*_originals(vault, path, note), *_copies(vault, path, note, ids), *parts]
    files = [file for file in files if file != path]
    return _Doomed(vault, note.id, note.title, tuple(dict.fromkeys((*files, path))))


def _copies(vault: Vault, path: str, note: Note, ids: Sequence[str | None]) -> list[str]:
    """The files in the trash that belong to a note with one of these ids or to its versions."""
    wanted = {identity for identity in (note.id, *ids) if identity}
    copies = []
    for place, copy in _trash(vault):
        same_name = copy.title == note.title and _is_copy(_before(path), _before(place))
        if copy.id in wanted if copy.id else same_name:
            copies += [*_originals(vault, place, copy), place]
    return copies


def _section_copies(vault: Vault, block: str) -> Iterator[str]:
    """The journals in the trash that hold a section."""
    for path, _ in _trash(vault):
        if _before(path).startswith("journal/"):
            with suppress(OSError, DjinnError):
                data = disk.read(vault, path)
                if journal.appendable(path, data) is not None:
                    text = journal.intact(data).decode("utf-8")
                    if journal.find(path, text, block):
                        yield path


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


def _trash(vault: Vault) -> Iterator[tuple[str, Note]]:
    """The notes in a vault's trash."""
    root: Path = vault.root / TRASH
    for path in sorted(root.rglob("*.md")) if root.is_dir() and not root.is_symlink() else ():
        name = path.relative_to(vault.root).as_posix()
        with suppress(OSError, DjinnError):
            yield name, parse(name, disk.read(vault, name), vault.dialect)


def _before(path: str) -> str:
    """The path of a file before it was moved to the trash, ignoring a number after its name."""
    return path.removeprefix(f"{TRASH}/")


def _notes(doomed: _Doomed) -> Iterator[tuple[str, Note]]:
    """The notes that are removed, or the section."""
    vault = doomed.vault
    for path in doomed.files:
        if not path.endswith(".md"):
            continue
        with suppress(OSError, DjinnError):
            data = disk.read(vault, path)
            if doomed.block is None:
                yield path, parse(_before(path), data, vault.dialect)
                continue
            for memory in parse_file(path, data, vault.dialect).memories:
                if memory.block == doomed.block:
                    yield path, memory.parse()


def _texts(note: Note) -> Iterator[str]:
    """The texts of a note to search for elsewhere, including a fact's values by themselves."""
    text = note.text[note.body :]
    yield from (note.title, text)
    fields = dict(note.fields)
    yield fields.get("source_context", "")
    if (source := fields.get("source", "")) not in CONFIDENCES:
        yield source
    if note.type == FACT:
        yield value_of(text)
        yield from (past.value for past in history_of(text))


def _hashes(note: Note, vault: Vault) -> Iterator[bytes]:
    """The hashes under which the vectors of a note's texts are cached."""
    for _, windows in cut(note, outline=RULES[vault.dialect].outline):
        yield from (window.hash for window in windows if window.hash)
