"""Writes a document that was read as a note of its vault, and keeps the version before."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from msgspec import Struct

from djinn_memory.chunking.plans import count
from djinn_memory.chunking.strategies import Plan
from djinn_memory.documents.document import Document
from djinn_memory.documents.note import HISTORY, extension, title_of
from djinn_memory.documents.titles import clean
from djinn_memory.errors import Changed, Refused
from djinn_memory.memories.library import files
from djinn_memory.memories.library.catalog import StoredDocument, head, original_path
from djinn_memory.memories.library.files import DocumentPlace, Keep
from djinn_memory.memories.library.requests import FileOutcome, IngestOptions
from djinn_memory.memories.library.versions import File
from djinn_memory.models import DocumentType, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.slugs import fold, unique
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.system.files import inside
from djinn_memory.system.interrupts import deferred

_OWN = (
    "id", "title", "type", "document_type", "author", "subject", "filename", "content_type",
    "file_size_bytes", "sha256", "total_pages", "chunk_strategy", "chunk_size", "chunk_overlap",
    "total_chunks", "embedding_model", "uploaded_at", "processed_at", "original", "version",
    "supersedes",
)  # fmt: skip
"""What djinn says of a document; all else in its front matter is the user's, and is carried over
to the next version."""


TRIES = 5
"""Who saves a note again and again, just as it is written, is told at last."""


class DocumentWriter(Struct, frozen=True):
    """Where documents go, and how."""

    vault: Vault
    wish: IngestOptions
    plan: Plan
    keep: Keep
    model: str | None
    """What a person calls the model that embeds."""


def file(
    filing: DocumentWriter,
    source: File,
    before: StoredDocument | None,
    document: Document,
    words: str,
    cut: Mapping[str, Any],
) -> FileOutcome:
    """Write a document, which supersedes `before`. The caller holds the vault.

    `words` are its `body` and `cut` its `plan_fields`, which take time that others need not wait.
    Where somebody saves a note there meanwhile, it is done again with that. Raises `Refused` and
    `OSError`, and then nothing is there but what was before.
    """
    for _ in range(TRIES - 1):
        with suppress(Changed, FileExistsError):
            return _file(filing, source, before, document, words, cut)
    return _file(filing, source, before, document, words, cut)


def _file(
    filing: DocumentWriter,
    source: File,
    before: StoredDocument | None,
    document: Document,
    words: str,
    cut: Mapping[str, Any],
) -> FileOutcome:
    vault, keep = filing.vault, filing.keep
    name = source.source.name
    if keep == "link" and not source.source.lasting:
        keep = "copy"
    suffix = extension(name, document.content_type)
    if before:
        where = _same_place(before, suffix, keep)
    else:
        where = files.place(vault, source.label, suffix, keep, source.source.path)
    was = disk.read(before.vault, before.path) if before else None
    carried = _carried(was) if was is not None else {}
    fields = {**_fields(filing, source, before, document, where, carried), **cut}
    data = frontmatter.compose(fields, words).encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        raise Refused(f"has {len(data):,} bytes of text, too much for a note; split the file")
    # Ctrl-C waits until the note is beside its original.
    with deferred():
        if before and was is not None:
            _supersede(before, was, where, data, source.source.path, keep)
        else:
            files.put(vault, where, data, source.source.path, keep)
    return FileOutcome(
        file=str(source.source.path),
        filename=name,
        status="ingested",
        document_id=fields["id"],
        title=fields["title"],
        vault=vault.name,
        path=where.note,
        content_type=document.content_type,
        total_pages=fields["total_pages"],
        chunks_created=fields["total_chunks"],
        chunk_strategy=filing.plan.strategy,
        chunk_size_tokens=None if filing.plan.strategy == "words" else filing.plan.size,
        document_type=fields["document_type"],
        version=fields["version"] or 1,
        warnings=document.warnings,
        metadata={key: value for key, value in fields.items() if value is not None},
    )


def _fields(
    filing: DocumentWriter,
    source: File,
    before: StoredDocument | None,
    document: Document,
    where: DocumentPlace,
    carried: Mapping[str, Any],
) -> dict[str, Any]:
    """What the front matter says, but for how the text is cut."""
    name, wish = source.source.name, filing.wish
    now = moment(datetime.now(UTC))
    return {
        "id": new_id(),
        "title": clean(wish.title) or title_of(document, name),
        "type": "document",
        **carried,
        "document_type": _document_type(wish, before),
        "author": clean(document.author) or None,
        "subject": clean(document.subject) or None,
        "filename": clean(name),
        "content_type": document.content_type,
        "file_size_bytes": source.size,
        "sha256": source.sha256,
        "total_pages": len(document.pages) if document.paged else None,
        "uploaded_at": now,
        "processed_at": now,
        "original": f"[[{PurePosixPath(where.original).name}]]" if where.original else None,
        "version": before.version + 1 if before else None,
        "supersedes": before.id if before else None,
    }


def plan_fields(plan: Plan, words: str, model: str | None) -> dict[str, Any]:
    """What the front matter says of how a document's text is cut."""
    return {
        "chunk_strategy": plan.strategy,
        "chunk_size": plan.size,
        "chunk_overlap": plan.overlap,
        "total_chunks": count(words, plan),
        "embedding_model": model,
    }


def _supersede(
    before: StoredDocument, was: bytes, where: DocumentPlace, note: bytes, source: Path, keep: Keep
) -> None:
    """Write the next version over a note whose bytes are `was`, and keep that in the history."""
    root, old = before.vault.root.resolve(), original_path(before)
    beside = old and PurePosixPath(old).parent == PurePosixPath(before.path).parent
    number = _free_version(before)
    vault, kept_file = before.vault, old if beside else None
    with files.retired(vault, before.path, was, kept_file, number) as retired:
        files.put(vault, where, note, source, keep, was=was)
    if not old:
        return
    kept = root / f"{retired.removesuffix('.md')}{''.join(PurePosixPath(old).suffixes)}"
    # The old one lies elsewhere, or none is kept any more: its version in the history has it.
    if old != where.original and not os.path.lexists(kept):
        (root / old).replace(kept)
    elif old != where.original:
        (root / old).unlink()


def _free_version(before: StoredDocument) -> int:
    """The number under which the history has this version, or has none yet.

    A note that was moved leaves its name to another, whose versions are none of its own.
    """
    stem, number = PurePosixPath(before.path).stem, before.version
    folder = inside(before.vault.root, HISTORY)
    while (folder / f"{stem}.v{number}.md").exists():
        if head(before.vault, f"{HISTORY}/{stem}.v{number}.md").get("id") == before.id:
            break
        number += 1
    return number


def _same_place(before: StoredDocument, suffix: str, keep: Keep) -> DocumentPlace:
    """The place of the next version of a document; its original takes no other file's name."""
    where = files.same_place(before.path, suffix, keep)
    if not where.original or where.original == original_path(before):
        return where
    folder = inside(before.vault.root, str(PurePosixPath(before.path).parent))
    taken = {fold(name) for name in _names(folder)}
    name = unique(PurePosixPath(before.path).stem, lambda one: fold(one + suffix) in taken)
    return DocumentPlace(where.note, str(PurePosixPath(before.path).parent / (name + suffix)))


def _names(folder: Path) -> Sequence[str]:
    return os.listdir(folder) if folder.is_dir() else ()  # noqa: PTH208


def _carried(data: bytes) -> dict[str, Any]:
    """What the user may have written into the front matter of the version before."""
    fields = frontmatter.read(decode(data)[0]).fields
    return {key: value for key, value in fields.items() if value and fold(key.strip()) not in _OWN}


def _document_type(wish: IngestOptions, before: StoredDocument | None) -> DocumentType:
    """As it is wished, else as the version before was."""
    was = before.fields.get("document_type") if before else None
    kept: DocumentType = next((one for one in get_args(DocumentType) if one == was), "general")
    return wish.document_type or kept
