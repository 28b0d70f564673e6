"""The documents of a home: what there is, what became of each, and what is done with one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Literal

import apsw
from msgspec import Struct

from djinn_memory.documents.note import FOLDER, HISTORY
from djinn_memory.documents.sources import Source, fingerprint
from djinn_memory.errors import DjinnError, NotFound, UsageError
from djinn_memory.memories.library.files import HEAD
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.vault import files as disk
from djinn_memory.search.hits import on_disk
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.sqlite import rows
from djinn_memory.system.files import inside
from djinn_memory.system.locks import is_locked

Status = Literal["pending", "processing", "indexed", "failed"]

_RUN = re.compile(r"[0-9a-f-]{36}")
"""The id of a run, which names a file: somebody else's ledger must not name another."""


class DocumentEntry(Struct, frozen=True):
    """A document, or a file that became none."""

    status: Status
    """`pending`: waits to be read, or to be embedded; `failed`: see `reason`."""
    reason: str | None
    """Why it failed."""
    document_id: str | None
    """`mem_` and 16 characters; null while it is no note."""
    filename: str
    """The name of the file that it was made from."""
    title: str
    """Its own title, else its first heading, else the name of the file."""
    vault: str
    """The name of the vault it is in."""
    path: str | None
    """Its note, relative to the folder of the vault; null while it is none."""
    content_type: str | None
    """The MIME type, told from the content."""
    document_type: str | None
    """`general`, `technical`, `personal` or `reference`."""
    total_pages: int | None
    """Null for a file without pages."""
    total_chunks: int
    """The parts that hits return."""
    chunk_strategy: str | None
    """How it was cut."""
    chunk_size: int | None
    """The most of a chunk: tokens, or characters where the strategy is `words`."""
    file_size_bytes: int | None
    """Of the file."""
    sha256: str | None
    """Of the file's bytes."""
    version: int
    """From 1; earlier ones are in the history."""
    uploaded_at: str | None
    """When it was ingested, as ISO 8601."""
    processed_at: str | None
    """When it was cut last, as ISO 8601."""
    source: str | None = None
    """The whole path of a file that became no document."""


class StoredDocument(Struct, frozen=True):
    """A document as the index knows it."""

    note_id: int
    id: str | None
    title: str
    vault: Vault
    path: str
    fields: dict[str, str]
    chunks: int
    waiting: int
    """Windows without a vector."""

    @property
    def filename(self) -> str:
        """The file that it was made from."""
        return self.fields.get("filename") or PurePosixPath(self.path).name

    @property
    def version(self) -> int:
        """From 1."""
        return _number(self.fields.get("version")) or 1

    @property
    def original(self) -> str | None:
        """The name of the kept file beside the note."""
        return self.fields.get("original")


def filed(connection: apsw.Connection, vaults: Sequence[Vault]) -> list[StoredDocument]:
    """The documents of `vaults` that the index knows and the disk has, by title."""
    numbered = vault_ids(connection, vaults)
    found = rows(
        connection,
        "select note.id, memory.id, uid, title, vault_id, path, "
        "(select count(*) from chunk where memory_id = memory.id), "
        "(select count(*) from chunk join window on chunk_id = chunk.id "
        " where memory_id = memory.id and not embedded) "
        "from memory join note on note.id = note_id "
        "where plane = 'documents' and vault_id in (select value from json_each(?)) "
        "order by title, path",
        (json.dumps(list(numbered)),),
    )
    fields: dict[int, dict[str, str]] = {}
    for memory, key, value in rows(
        connection,
        "select memory_id, key, value from field where memory_id in "
        "(select value from json_each(?))",
        (json.dumps([row[1] for row in found]),),
    ):
        fields.setdefault(memory, {}).setdefault(key, value)
    return [
        StoredDocument(
            note, uid, title, numbered[vault], path, fields.get(memory, {}), chunks, waiting
        )
        for note, memory, uid, title, vault, path, chunks, waiting in found
        if on_disk(numbered[vault], path)
    ]


def entry(document: StoredDocument, *, embeds: bool) -> DocumentEntry:
    """A document for a list; `embeds` says whether windows without a vector wait for one."""
    fields = document.fields
    return DocumentEntry(
        status="pending" if embeds and document.waiting else "indexed",
        reason=None,
        document_id=document.id,
        filename=document.filename,
        title=document.title,
        vault=document.vault.name,
        path=document.path,
        content_type=fields.get("content_type"),
        document_type=fields.get("document_type"),
        total_pages=_number(fields.get("total_pages")),
        total_chunks=document.chunks,
        chunk_strategy=fields.get("chunk_strategy"),
        chunk_size=_number(fields.get("chunk_size")),
        file_size_bytes=_number(fields.get("file_size_bytes")),
        sha256=fields.get("sha256"),
        version=document.version,
        uploaded_at=fields.get("uploaded_at"),
        processed_at=fields.get("processed_at"),
    )


def unfinished(ledger: Ledger, locks: Path, vaults: Sequence[Vault]) -> list[DocumentEntry]:
    """The files of `vaults` that wait, are being read or failed, the oldest first.

    One whose run has ended without a word, killed perhaps, has failed.
    """
    names = {vault.id: vault.name for vault in vaults}
    alive: dict[str, bool] = {}
    found = []
    for event in ledger.latest("document"):
        verb = event.kind.partition(".")[2]
        vault, run = said(event, "vault"), said(event, "run")
        if verb not in ("pending", "processing", "failed") or vault not in names:
            continue
        status: Status = "failed"
        reason = said(event, "why") or None
        if verb != "failed":
            if run not in alive:
                alive[run] = bool(_RUN.fullmatch(run)) and is_locked(run_lock(locks, run))
            if alive[run]:
                status = "pending" if verb == "pending" else "processing"
            else:
                reason = "was interrupted; ingest it again"
        source = said(event, "source")
        name = said(event, "name") or PurePosixPath(source).name
        found.append(_unfiled(status, reason, name, names[vault], source, event.at))
    return found


def subject(vault: Vault, source: str) -> str:
    """What the ledger calls the file `source` as a document of `vault`."""
    return f"{vault.id}:{source}"


def source_of(source: Source) -> str:
    """What tells a file from others: its path; its name where it is nowhere to be found again."""
    if not source.lasting:
        return source.name.encode("utf-8", "backslashreplace").decode()
    # Not the target of a link: that is another file, perhaps another one each time.
    path = Path(os.path.realpath(source.path.parent), source.path.name)
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def said(event: Event, key: str) -> str:
    """The text that an event's data has; empty where it has none."""
    value = event.data.get(key)
    return value if isinstance(value, str) else ""


def run_lock(locks: Path, run: str) -> Path:
    """What a run of `djinn ingest` holds while it lasts."""
    return locks / f"ingest-{run}.lock"


def find(documents: Sequence[StoredDocument], name: str) -> StoredDocument:
    """The document that `name` means: its file, id, path, title or slug.

    `NotFound`, and `UsageError` with the choices when several could be meant.
    """
    wanted = name.strip().removeprefix("[[").removesuffix("]]")
    tests = (
        lambda one: wanted in (one.id, one.path, f"{one.vault.name}/{one.path}"),
        lambda one: wanted == f"{one.vault.name}:{one.path}",
        lambda one: wanted == one.filename,
        lambda one: wanted.lower() == one.filename.lower() or wanted.lower() == one.title.lower(),
        lambda one: (
            wanted.lower()
            in (PurePosixPath(one.path).stem.lower(), PurePosixPath(one.filename).stem.lower())
        ),
    )
    for test in tests:
        found = [one for one in documents if test(one)]
        if len(found) == 1:
            return found[0]
        if found:
            places = ", ".join(f"{one.vault.name}:{one.path}" for one in found)
            raise UsageError(f"{name!r} could be any of: {places}; name one like that")
    raise NotFound(f"no document {name!r}; `djinn document list` shows those there are")


def remove(document: StoredDocument) -> list[Path]:
    """Move a document, its original and its history to the vault's `.trash/`; where they lie.

    The note goes last, so that a removal that is cut short can be done again.
    """
    vault = document.vault
    original = original_path(document)
    kept = [original] if original else []
    moved = [disk.trash(vault, path) for path in (*kept, *history(document))]
    return [disk.trash(vault, document.path), *moved]


def original_path(document: StoredDocument) -> str | None:
    """Where the kept file lies in the vault; None where none was kept, or it is gone.

    Beside the note, or where it was put first if only the note was moved. It is known by its bytes:
    whoever wrote the note, or moved it, may have another file of that name there. One that was
    changed, or is a link, is known by the note's name, where djinn wrote the two.
    """
    name = PurePosixPath(document.original or "").name
    if not name or name in (".", "..") or name.lower().endswith(".md"):
        return None
    root, note = document.vault.root, PurePosixPath(document.path)
    places = dict.fromkeys((str(note.parent / name), f"{FOLDER}/{name}"))
    for path in places:
        with suppress(DjinnError, OSError):
            inside(root, str(PurePosixPath(path).parent))
            copied = not (root / path).is_symlink() and (root / path).is_file()
            if copied and fingerprint(root / path)[0] == document.fields.get("sha256"):
                return path
    beside = root / note.parent / name
    if name.startswith(f"{note.stem}.") and (
        beside.is_symlink() or (beside.is_file() and str(note.parent) == FOLDER)
    ):
        return str(note.parent / name)
    return None


def history(document: StoredDocument) -> list[str]:
    """The paths of the earlier versions of a document, the newest first: notes and originals.

    Told by what each version says it supersedes, so that notes of one name share no history.
    """
    wanted = document.fields.get("supersedes")
    folder = inside(document.vault.root, HISTORY)
    if not wanted or not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir())
    notes: dict[str, tuple[str, str]] = {}
    for name in names:
        if name.endswith(".md"):
            fields = head(document.vault, f"{HISTORY}/{name}")
            notes[fields.get("id", "")] = (name, fields.get("supersedes", ""))
    found: list[str] = []
    while wanted in notes:
        note, wanted = notes.pop(wanted)
        stem = note.removesuffix("md")
        found += [note, *(name for name in names if name.startswith(stem) and name != note)]
    return [f"{HISTORY}/{name}" for name in found]


def head(vault: Vault, path: str) -> dict[str, str]:
    """What the front matter of a note says now, without its lists; empty for one that is gone."""
    with suppress(OSError, DjinnError), inside(vault.root, path).open("rb") as file:
        fields = frontmatter.read(decode(file.read(HEAD))[0]).fields
        return {key: value for key, value in fields.items() if isinstance(value, str)}
    return {}


def _unfiled(
    status: Status, reason: str | None, name: str, vault: str, source: str, at: str
) -> DocumentEntry:
    return DocumentEntry(
        status=status, reason=reason, document_id=None, filename=name, title=name, vault=vault,
        path=None, content_type=None, document_type=None, total_pages=None, total_chunks=0,
        chunk_strategy=None, chunk_size=None, file_size_bytes=None, sha256=None, version=1,
        uploaded_at=at, processed_at=None, source=source,
    )  # fmt: skip


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 19 else None
