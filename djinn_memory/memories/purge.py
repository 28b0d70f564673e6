"""Removes a memory for good: its note, all copies of it, and every trace in djinn's databases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.documents.sources import fingerprint
from djinn_memory.errors import DjinnError, NotFound, Refused, Unavailable, UsageError
from djinn_memory.indexing.indexer import cut, resolve_links
from djinn_memory.memories.catalog.catalog import find_memory, require_note
from djinn_memory.memories.catalog.requests import PurgeMemory
from djinn_memory.memories.facts.note_format import history_of, value_of
from djinn_memory.memories.facts.requests import CONFIDENCES
from djinn_memory.memories.facts.writer import FACT
from djinn_memory.memories.library import catalog as documents
from djinn_memory.memories.library.catalog import history, original_path, read_fields
from djinn_memory.memories.writing.versions import versions
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.files import TRASH
from djinn_memory.store.erasing import erase
from djinn_memory.store.expiring import forget
from djinn_memory.store.index import memories, words
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger.redaction import phrases, redacted
from djinn_memory.store.sqlite import rows, transaction
from djinn_memory.store.state import State
from djinn_memory.system.files import inside

SENTENCE = 20
"""Characters from which on a text in a value is that of the memory, and not a word like its title:
a value may be another agent's, and is removed whole."""


class PurgeReport(Struct, frozen=True):
    """What was removed for good, or would be."""

    id: str | None
    """`mem_` and 16 characters; null for a note that has none."""
    title: str
    """What it was called."""
    vault: str
    """The name of the vault it was in."""
    files: tuple[str, ...]
    """Its note, versions before, kept originals and copies in the trash, from the vault on."""
    vectors: int = 0
    """Its vectors in the cache."""
    events: int = 0
    """Events of the ledger in which its title or text stood."""
    values: int = 0
    """Values of working memory in which they stood."""
    problems: list[Problem] = field(default_factory=list)
    """Where something of it may still be found."""
    purged: bool = False
    """Whether it was removed; false for a dry run, after which all is still there."""


class _Doomed(Struct, frozen=True):
    """A memory that is to be removed."""

    vault: Vault
    id: str | None
    title: str
    files: tuple[str, ...]
    """The note last, so that what is cut short can be done again."""


def purge(state: State, vaults: Sequence[Vault], request: PurgeMemory) -> PurgeReport:
    """Remove the memory that a name means in `vaults`, also one that is in the trash already."""
    doomed = _doomed(state, request.name, vaults)
    report = PurgeReport(doomed.id, doomed.title, doomed.vault.name, doomed.files)
    if request.dry_run:
        return report
    if request.files is not None and tuple(request.files) != doomed.files:
        raise Refused(f"{request.name!r} has other files by now; look at them, then purge again")
    if doomed.vault.read_only:
        raise Refused(f"vault {doomed.vault.name} is read-only; remove its files yourself")
    notes = list(_notes(doomed.vault, doomed.files))
    state.need_writable()
    said = [text for _, note in notes for text in _said(note)]
    hashes = {key for _, note in notes for key in _hashes(note, doomed.vault)}
    # The files last: while they are there all of it can be done again.
    ledger = state.ledger_if_any
    events = ledger.redact(said) if ledger else 0
    values = _forget_values(state, said)
    with state.lock():
        with transaction(state.index):
            for path in doomed.files:
                memories.forget(state.index, doomed.vault, path)
            words.compact(state.index)
        hashes -= {key for (key,) in rows(state.index, "select distinct hash from window")}
        vectors = state.cache.remove(hashes) if state.home.embeddings_path.exists() else 0
        with state.vault_lock(doomed.vault):
            for path in doomed.files:
                inside(doomed.vault.root, str(PurePosixPath(path).parent))
                (doomed.vault.root / path).unlink(missing_ok=True)
        resolve_links(state.index, state.home.vaults, state.home.config.exclude)
    problems = list(_erase(state))
    return replace(
        report, vectors=vectors, events=events, values=values, problems=problems, purged=True
    )


def _forget_values(state: State, texts: Sequence[str]) -> int:
    """Forget what any agent's working memory holds of these texts; returns how many values."""
    if not (state.home.config.working_memory or state.home.working_path.exists()):
        return 0
    wanted, count = phrases(texts), 0
    for agent in state.home.config.agents:
        for one in state.working.entries(agent)[0]:
            data = msgspec.json.decode(one.value)
            whole = {one.key: data}
            if redacted(whole, wanted, frozenset(), contained=SENTENCE) != whole:
                state.working.change(one.slot, forget(one))
                count += 1
    if count:
        state.working.erase()
    return count


def _erase(state: State) -> Iterator[Problem]:
    """Take what was deleted out of the index, and away with copies that were set aside."""
    try:
        erase(state.index)
    except Unavailable as error:
        yield Problem("index", str(error))
    for path in sorted(state.home.state.glob("*.db.corrupt-*")):
        if path.name.startswith(state.home.ledger_path.name):
            yield Problem(str(path), "was set aside and may hold it; delete it if you can")
        else:
            # An index or a cache: all that it holds can be made anew.
            path.unlink(missing_ok=True)


def _doomed(state: State, name: str, vaults: Sequence[Vault]) -> _Doomed:
    try:
        entry = _entry(state, name, vaults)
    except NotFound:
        return _trashed(name, vaults)
    require_note(state, entry, "purged")
    vault = next(one for one in vaults if one.name == entry.vault)
    note = parse(entry.path, disk.read(vault, entry.path), vault.dialect)
    parts = [*_parts(state, vault, entry), *versions(vault, entry.path)]
    copies = _copies(
        vault, entry.path, note, [read_fields(vault, path).get("id") for path in parts]
    )
    files = dict.fromkeys((*copies, *parts, entry.path))
    return _Doomed(vault, note.id, note.title, tuple(files))


def _entry(state: State, name: str, vaults: Sequence[Vault]) -> IndexedMemory:
    """The memory that `name` means, which for a document may be the name of its file."""
    try:
        return find_memory(state, name, vaults)
    except NotFound:
        document = documents.find_document(documents.stored_documents(state, vaults), name)
        return find_memory(state, f"{document.vault.name}:{document.path}", vaults)


def _parts(state: State, vault: Vault, entry: IndexedMemory) -> list[str]:
    """The original and the earlier versions of a document."""
    if entry.plane != "documents":
        return []
    for one in documents.stored_documents(state, [vault]):
        if one.path == entry.path:
            original = original_path(one)
            return [*([original] if original else []), *history(one)]
    return []


def _trashed(name: str, vaults: Sequence[Vault]) -> _Doomed:
    """The memory that `name` means among those in the trash."""
    wanted = name.strip().removeprefix("[[").removesuffix("]]")
    found: list[tuple[Vault, str, Note]] = []
    for vault in vaults:
        for path, note in _trash(vault):
            before = _before(path)
            names = (note.id, path, before, f"{vault.name}/{before}", f"{vault.name}:{before}")
            loose = (note.title, PurePosixPath(before).stem)
            if wanted in names or fold(wanted) in map(fold, loose):
                found.append((vault, path, note))
    if not found:
        raise NotFound(f"no note {name!r}, and none in the trash; give an id, a path or a title")
    if len({(one.name, other.id or path) for one, path, other in found}) > 1:
        places = ", ".join(other.id or f"{one.name}/{path}" for one, path, other in found)
        raise UsageError(f"{name!r} could be any of: {places}; name one like that")
    vault, path, note = found[0]
    parts = versions(vault, path)
    ids = [read_fields(vault, part).get("id") for part in parts]
    files = [*_originals(vault, path, note), *_copies(vault, path, note, ids), *parts]
    files = [one for one in files if one != path]
    return _Doomed(vault, note.id, note.title, tuple(dict.fromkeys((*files, path))))


def _copies(vault: Vault, path: str, note: Note, ids: Sequence[str | None]) -> list[str]:
    """What is in the trash of a note, of its versions with these ids, and of their originals."""
    wanted = {one for one in (note.id, *ids) if one}
    found = []
    for place, one in _trash(vault):
        again = one.title == note.title and _again(_before(path), _before(place))
        if one.id in wanted if one.id else again:
            found += [*_originals(vault, place, one), place]
    return found


def _again(path: str, other: str) -> bool:
    """Whether `other` is how a second file from `path` is called in the trash."""
    stem, end = re.escape(path.removesuffix(".md")), r"(?:-\d+)?\.md"
    return bool(re.fullmatch(stem + end, other))


def _originals(vault: Vault, place: str, note: Note) -> list[str]:
    """The kept file of a document in the trash, known by its bytes."""
    fields = dict(note.fields)
    name = PurePosixPath(fields.get("original", "").strip("[]")).name
    digest, folder = fields.get("sha256"), (vault.root / place).parent
    if not name or not digest:
        return []
    found = []
    for path in (*folder.glob(f"{PurePosixPath(place).stem}*"), folder / name):
        with suppress(OSError, DjinnError):
            if path.suffix != ".md" and (path.is_symlink() or fingerprint(path)[0] == digest):
                found.append(path.relative_to(vault.root).as_posix())
    return found


def _trash(vault: Vault) -> Iterator[tuple[str, Note]]:
    """The notes in a vault's trash."""
    root: Path = vault.root / TRASH
    for path in sorted(root.rglob("*.md")) if root.is_dir() and not root.is_symlink() else ():
        name = path.relative_to(vault.root).as_posix()
        with suppress(OSError, DjinnError):
            yield name, parse(name, disk.read(vault, name), vault.dialect)


def _before(path: str) -> str:
    """Where a file in the trash lay, but for a number behind its name; another stays as it is."""
    return path.removeprefix(f"{TRASH}/")


def _notes(vault: Vault, files: Sequence[str]) -> Iterator[tuple[str, Note]]:
    for path in files:
        if path.endswith(".md"):
            with suppress(OSError, DjinnError):
                yield path, parse(_before(path), disk.read(vault, path), vault.dialect)


def _said(note: Note) -> Iterator[str]:
    """What of a note is looked for elsewhere: also by itself, what a fact says and said before."""
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
    """By what the vectors of a note's text are kept."""
    for _, windows in cut(note, outline=RULES[vault.dialect].outline):
        yield from (window.hash for window in windows)
