"""Reads the documents of a home: their metadata, state, versions and the paths of their files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from djinn_memory.documents.note import FOLDER, HISTORY
from djinn_memory.documents.sources import Source, fingerprint
from djinn_memory.documents.titles import clean
from djinn_memory.errors import DjinnError, NotFound, Remedy, UsageError
from djinn_memory.memories.library.files import HEAD
from djinn_memory.memories.library.requests import DocumentEntry, DocumentStatus
from djinn_memory.models import Filters, Vault, extended
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.files import on_disk
from djinn_memory.store.index.records import MemorySize, Selection
from djinn_memory.store.ledger import Event
from djinn_memory.store.state import State
from djinn_memory.system.files import inside
from djinn_memory.system.locks import is_locked


class IngestFile(Struct, frozen=True):
    """A file and the hash of its bytes."""

    source: Source
    sha256: str
    size: int
    last_id: str | None
    """The id of the last document from this file, if any."""
    label: str
    """The name of its note if it becomes a new document."""


def predecessors(
    documents: Sequence[StoredDocument], files: Sequence[IngestFile]
) -> list[StoredDocument | None]:
    """The document that each file supersedes; None for a new document.

    A wrong match would hide a document. Returns None when the name is ambiguous, when two files
    match one document, or when another of `files` is still the source of that document.
    """
    hashes = {file.sha256 for file in files}
    names = Counter(clean(file.source.name) for file in files)
    known = {document.sha256 for document in documents}
    claims: list[StoredDocument | None] = []
    for file in files:
        name = clean(file.source.name)
        same_name = [document for document in documents if document.filename == name]
        if file.sha256 in known:
            claims.append(None)
        elif file.last_id:
            claims.append(_successor(file.last_id, same_name))
        else:
            alone = len(same_name) == 1 and names[name] == 1 and name == file.source.name
            claims.append(same_name[0] if alone else None)
    claimed = Counter(document.memory_id for document in claims if document)
    return [
        document
        if document and claimed[document.memory_id] == 1 and document.sha256 not in hashes
        else None
        for document in claims
    ]


def _successor(last_id: str, same_name: Sequence[StoredDocument]) -> StoredDocument | None:
    """The document that has the id, or that superseded the document with the id."""
    for document in same_name:
        if document.id == last_id:
            return document
    for document in same_name:
        earlier = (read_fields(document.vault, path).get("id") for path in history(document))
        if last_id in earlier:
            return document
    return None


def current(before: StoredDocument, documents: Sequence[StoredDocument]) -> StoredDocument | None:
    """The document `before` among `documents` now, or None."""
    if before.id:
        same_name = [document for document in documents if document.filename == before.filename]
        return _successor(before.id, same_name)
    return next((document for document in documents if document.path == before.path), None)


def unchanged(before: StoredDocument) -> bool:
    """Whether the note of `before` still has the path and version in the index."""
    now = read_fields(before.vault, before.path)
    return (now.get("id"), now.get("sha256")) == (before.id, before.sha256)


_RUN = re.compile(r"[0-9a-f-]{36}")
"""The id of a run. It becomes a file name, so an id in a foreign ledger must have this form."""


_TEXTS = ("content_type", "document_type", "chunk_strategy", "uploaded_at", "processed_at")
_NUMBERS = ("total_pages", "chunk_size", "file_size_bytes")
"""Numeric front matter of a document that a list shows."""


class StoredDocument(Struct, frozen=True):
    """A document from the index."""

    memory_id: int
    id: str | None
    title: str
    vault: Vault
    path: str
    fields: dict[str, str]
    """Its front matter. For a list, the first value."""
    size: MemorySize
    domain: str | None = None

    @property
    def place(self) -> str:
        """`vault:path`, which is never ambiguous."""
        return f"{self.vault.name}:{self.path}"

    @property
    def filename(self) -> str:
        """The name of its source file."""
        return self.fields.get("filename") or PurePosixPath(self.path).name

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of its source file."""
        return self.fields.get("sha256")

    @property
    def version(self) -> int:
        """The version, from 1."""
        return _number(self.fields.get("version")) or 1

    def is_called(self, name: str) -> bool:
        """Whether `name` is its id or its path."""
        return name in (self.id, self.path, f"{self.vault.name}/{self.path}", self.place)


def stored_documents(state: State, vaults: Sequence[Vault]) -> list[StoredDocument]:
    """The documents of `vaults` that are in the index and on the disk, sorted by title."""
    by_name = {vault.name: vault for vault in vaults}
    with state.reading(vaults) as index:
        documents = Selection(Filters(planes=("documents",)), whole_files=True)
        memories = list(index.memories(documents, order="title"))
        sizes = index.sizes([memory.memory_id for memory in memories])
    return [
        extended(
            memory,
            StoredDocument,
            vault=by_name[memory.vault],
            fields=dict(reversed(memory.fields)),
            size=sizes.get(memory.memory_id, MemorySize(0, 0)),
        )
        for memory in memories
        if on_disk(by_name[memory.vault], memory.path)
    ]


def document_entry(document: StoredDocument, *, embeds: bool) -> DocumentEntry:
    """A document as a list shows it.

    `embeds` is whether a model will embed windows without vectors.
    """
    fields = document.fields
    return extended(
        document,
        DocumentEntry,
        status="pending" if embeds and document.size.waiting else "indexed",
        reason=None,
        document_id=document.id,
        vault=document.vault.name,
        total_chunks=document.size.chunks,
        **{key: fields.get(key) for key in _TEXTS},
        **{key: _number(fields.get(key)) for key in _NUMBERS},
    )


def is_hidden(state: State, vault: Vault, event: Event) -> bool:
    """Whether the event is about a file of a domain that the reader of the vault may not see."""
    domain = text_of(event, "domain")
    return bool(domain) and state.home.hides(vault, [domain])


def unfinished(state: State, vaults: Sequence[Vault]) -> list[DocumentEntry]:
    """The files of `vaults` that are waiting, being read or failed, oldest first.

    A file has failed if its run ended without reporting it, for example because it was killed.
    """
    ledger, locks = state.ledger_if_any, state.home.state / "locks"
    by_id = {vault.id: vault for vault in vaults}
    running: dict[str, bool] = {}
    entries = []
    for event in ledger.latest("document") if ledger else ():
        verb = event.kind.partition(".")[2]
        vault, run = text_of(event, "vault"), text_of(event, "run")
        if verb not in ("pending", "processing", "failed") or vault not in by_id:
            continue
        if is_hidden(state, by_id[vault], event):
            continue
        status: DocumentStatus = "failed"
        reason = text_of(event, "why") or None
        if verb != "failed":
            if run not in running:
                running[run] = bool(_RUN.fullmatch(run)) and is_locked(run_lock(locks, run))
            if running[run]:
                status = "pending" if verb == "pending" else "processing"
            else:
                reason = "was interrupted; ingest the file again"
        source = text_of(event, "source")
        name = text_of(event, "name") or PurePosixPath(source).name
        nothing: dict[str, Any] = dict.fromkeys(DocumentEntry.__struct_fields__)
        known = {"filename": name, "title": name, "vault": by_id[vault].name, "source": source}
        known |= {"status": status, "uploaded_at": event.at}
        fields = {**nothing, **known, "reason": reason, "version": 1, "total_chunks": 0}
        fields["domain"] = text_of(event, "domain") or None
        entries.append(DocumentEntry(**fields))
    return entries


def subject(vault: Vault, source: str) -> str:
    """The ledger's name for the file `source` as a document of `vault`."""
    return f"{vault.id}:{source}"


def source_of(source: Source) -> str:
    """The identity of a file: its path, or its name if the path is not permanent."""
    if not source.lasting:
        return source.name.encode("utf-8", "backslashreplace").decode()
    # Not the target of a link: that is another file, perhaps another one each time.
    path = Path(os.path.realpath(source.path.parent), source.path.name)
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def text_of(event: Event, key: str) -> str:
    """The text for a key of an event's data; empty if there is none."""
    value = event.data.get(key)
    return value if isinstance(value, str) else ""


def run_lock(locks: Path, run: str) -> Path:
    """The lock that a run of ingest holds until it ends."""
    return locks / f"ingest-{run}.lock"


def find_document(documents: Sequence[StoredDocument], name: str) -> StoredDocument:
    """Find the document that `name` means: its file, id, path, title or slug.

    Raises `NotFound`, or `UsageError` with the choices when the name is ambiguous.
    """
    wanted = name.strip().removeprefix("[[").removesuffix("]]")
    folded = wanted.lower()
    tests = (
        lambda document: document.is_called(wanted),
        lambda document: wanted == document.filename,
        lambda document: folded in (document.filename.lower(), document.title.lower()),
        lambda document: (
            folded
            in (PurePosixPath(path).stem.lower() for path in (document.path, document.filename))
        ),
    )
    for test in tests:
        matches = [document for document in documents if test(document)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            places = ", ".join(document.place for document in matches)
            raise UsageError(f"{name!r} is ambiguous: {places}; use one of these")
    remedy = Remedy("documents.list", purpose="list the documents")
    raise NotFound(f"no document {name!r}", remedy)


def trash_document(document: StoredDocument) -> list[Path]:
    """Move a document, its original and its history to the trash. Returns the new paths.

    The note is moved last, so that an interrupted removal can be repeated.
    """
    vault = document.vault
    original = original_path(document)
    kept = [original] if original else []
    moved = [disk.trash(vault, path) for path in (*kept, *history(document))]
    return [disk.trash(vault, document.path), *moved]


def original_path(document: StoredDocument) -> str | None:
    """The path of the kept original in the vault; None if none was kept, or it no longer exists.

    It is beside the note, or in the folder of documents if only the note was moved. It is
    identified by its hash, because another file may have its name. An original that was changed or
    is a link is identified by name, if it is in the folder to which djinn wrote both.
    """
    name = PurePosixPath(document.fields.get("original") or "").name
    if not name or name in (".", "..") or name.lower().endswith(".md"):
        return None
    root, note = document.vault.root, PurePosixPath(document.path)
    places = dict.fromkeys((str(note.parent / name), f"{FOLDER}/{name}"))
    for path in places:
        with suppress(DjinnError, OSError):
            inside(root, str(PurePosixPath(path).parent))
            copied = not (root / path).is_symlink() and (root / path).is_file()
            if copied and fingerprint(root / path)[0] == document.sha256:
                return path
    beside = root / note.parent / name
    if name.startswith(f"{note.stem}.") and (
        beside.is_symlink() or (beside.is_file() and str(note.parent) == FOLDER)
    ):
        return str(note.parent / name)
    return None


def history(document: StoredDocument) -> list[str]:
    """The paths of the earlier versions of a document, newest first: notes and originals.

    Each version names the version that it supersedes, so documents with the same name do not share
    a history.
    """
    wanted = document.fields.get("supersedes")
    folder = inside(document.vault.root, HISTORY)
    if not wanted or not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir())
    notes: dict[str, tuple[str, str]] = {}
    for name in names:
        if name.endswith(".md"):
            fields = read_fields(document.vault, f"{HISTORY}/{name}")
            notes[fields.get("id", "")] = (name, fields.get("supersedes", ""))
    versions: list[str] = []
    while wanted in notes:
        note, wanted = notes.pop(wanted)
        stem = note.removesuffix("md")
        versions += [note, *(name for name in names if name.startswith(stem) and name != note)]
    return [f"{HISTORY}/{name}" for name in versions]


def read_fields(vault: Vault, path: str) -> dict[str, str]:
    """The front matter of a note on disk, without lists; empty if the note is missing."""
    with suppress(OSError, DjinnError), inside(vault.root, path).open("rb") as file:
        fields = frontmatter.read(decode(file.read(HEAD))[0]).fields
        return {key: value for key, value in fields.items() if isinstance(value, str)}
    return {}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 19 else None
