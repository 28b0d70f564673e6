"""Reads the documents of a home: their metadata, state, versions and the paths of their files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from djinn_memory.documents.note import FOLDER, HISTORY
from djinn_memory.documents.sources import Source, fingerprint
from djinn_memory.errors import DjinnError, NotFound, Remedy, UsageError
from djinn_memory.memories.library.files import read_fields
from djinn_memory.models import Filters, Vault, extended
from djinn_memory.notes.vault import on_disk
from djinn_memory.store.index.records import MemorySize, Selection
from djinn_memory.store.ledger import Event
from djinn_memory.store.state import State
from djinn_memory.system.files import inside


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
        return self.number("version") or 1

    def number(self, field: str) -> int | None:
        """The number in a field; None if there is none."""
        text = self.fields.get(field)
        return int(text) if text and text.isdecimal() and len(text) < 19 else None


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


def document_events(state: State, vaults: Sequence[Vault]) -> Iterator[tuple[Vault, Event]]:
    """The last event of each file of these vaults, the oldest first.

    Files of a domain that the reader of the vault may not see are left out.
    """
    ledger, by_id = state.ledger_if_any, {vault.id: vault for vault in vaults}
    for event in ledger.latest("document") if ledger else ():
        vault, domain = by_id.get(text_of(event, "vault")), text_of(event, "domain")
        if vault and not (domain and state.home.hides(vault, [domain])):
            yield vault, event


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
        lambda document: (
            wanted
            in (
                document.id,
                document.path,
                f"{document.vault.name}/{document.path}",
                document.place,
            )
        ),
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


def other_files(document: StoredDocument) -> list[str]:
    """The paths of the kept original and of the earlier versions of a document."""
    original = original_path(document)
    return [*([original] if original else []), *history(document)]


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
