"""Writes a document as a note of its vault, and keeps the earlier version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import ValidationError, convert

from djinn_memory.chunking.strategies import Plan, count
from djinn_memory.documents.document import Document
from djinn_memory.documents.note import HISTORY, clean, extension, title_of
from djinn_memory.errors import Changed, Refused
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.library import files
from djinn_memory.memories.library.catalog import StoredDocument, original_path
from djinn_memory.memories.library.files import DocumentPlace, Keep, read_fields
from djinn_memory.memories.library.ingest_run import IngestFile, IngestRun
from djinn_memory.memories.library.requests import FileOutcome, IngestOptions
from djinn_memory.models import DocumentType
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.slugs import fold, unique
from djinn_memory.notes.vault import MAX_BYTES
from djinn_memory.system.files import inside
from djinn_memory.system.interrupts import deferred

_OWN = (
    "id", "title", "type", "document_type", "author", "subject", "filename", "content_type",
    "file_size_bytes", "sha256", "total_pages", "chunk_strategy", "chunk_size", "chunk_overlap",
    "total_chunks", "embedding_model", "uploaded_at", "processed_at", "original", "version",
    "supersedes",
)  # fmt: skip
"""The fields that djinn writes. All other front matter belongs to the user. The next version keeps
it."""


TRIES = 5
"""Maximum attempts to write a note that another program keeps saving."""


def write_document(
    run: IngestRun,
    file: IngestFile,
    before: StoredDocument | None,
    document: Document,
    text: str,
    chunk_fields: Mapping[str, Any],
) -> FileOutcome:
    """Write a document of a run. It supersedes `before`. The caller holds the lock of the vault.

    `text` is its `body`, and `chunk_fields` are its `plan_fields`; both are computed before the
    lock is taken. If another program saves the note in the meantime, the document is written again
    over that version. After `Refused` and `OSError` all files are as before.
    """
    source = file.source
    keep = run.state.home.config.documents.keep_originals
    keep = "copy" if keep == "link" and not source.lasting else keep
    suffix = extension(source.name, document.content_type)
    for attempts_left in reversed(range(TRIES)):
        data = disk.read(before.vault, before.path) if before else None
        if before:
            target = _same_place(before, suffix, keep)
        else:
            target = files.place(run.vault, file.label, suffix, keep, source.path)
        carried = _carried(data) if data is not None else {}
        fields = {**_fields(run, file, before, document, target, carried), **chunk_fields}
        note = frontmatter.compose(fields, text).encode("utf-8", "replace")
        if len(note) > MAX_BYTES:
            size = f"{len(note):,} bytes of text"
            raise Refused(f"has {size}, too many for one note; split the file")
        try:
            # Ctrl-C waits until the note is beside its original.
            with deferred():
                if before and data is not None:
                    _supersede(before, data, target, note, source.path, keep)
                else:
                    files.put(run.vault, target, note, source.path, keep)
            break
        except (Changed, FileExistsError):
            if not attempts_left:
                raise
    return FileOutcome(
        file=str(source.path),
        filename=source.name,
        status="ingested",
        document_id=fields["id"],
        title=fields["title"],
        vault=run.vault.name,
        path=target.note,
        content_type=document.content_type,
        total_pages=fields["total_pages"],
        chunks_created=fields["total_chunks"],
        chunk_strategy=run.plan.strategy,
        chunk_size_tokens=None if run.plan.strategy == "words" else run.plan.size,
        document_type=fields["document_type"],
        version=fields["version"] or 1,
        warnings=document.warnings,
        metadata={key: value for key, value in fields.items() if value is not None},
    )


def _fields(
    run: IngestRun,
    file: IngestFile,
    before: StoredDocument | None,
    document: Document,
    target: DocumentPlace,
    carried: Mapping[str, Any],
) -> dict[str, Any]:
    """The front matter, except for the chunking plan."""
    options, name = run.options, file.source.name
    now = moment(datetime.now(UTC))
    return {
        "id": new_id(),
        "title": clean(options.title) or title_of(document, name),
        "type": "document",
        DOMAIN: run.domain,
        **carried,
        **({DOMAIN: options.domain} if options.domain is not None else {}),
        "document_type": _document_type(options, before),
        "author": clean(document.author) or None,
        "subject": clean(document.subject) or None,
        "filename": clean(name),
        "content_type": document.content_type,
        "file_size_bytes": file.size,
        "sha256": file.sha256,
        "total_pages": len(document.pages) if document.paged else None,
        "uploaded_at": now,
        "processed_at": now,
        "original": f"[[{PurePosixPath(target.original).name}]]" if target.original else None,
        "version": before.version + 1 if before else None,
        "supersedes": before.id if before else None,
    }


def _document_type(options: IngestOptions, before: StoredDocument | None) -> DocumentType:
    """The type in the options, else the type of the earlier version."""
    last: DocumentType = "general"
    with suppress(ValidationError):
        last = convert(before.fields.get("document_type") if before else None, DocumentType)
    return options.document_type or last


def plan_fields(plan: Plan, text: str, model: str | None) -> dict[str, Any]:
    """The front matter of a document's chunking plan."""
    return {
        "chunk_strategy": plan.strategy,
        "chunk_size": plan.size,
        "chunk_overlap": plan.overlap,
        "total_chunks": count(text, plan),
        "embedding_model": model,
    }


def _supersede(
    before: StoredDocument,
    data: bytes,
    target: DocumentPlace,
    note: bytes,
    source: Path,
    keep: Keep,
) -> None:
    """Write the next version over a note with the bytes `data`; the history keeps the old one."""
    root, old = before.vault.root.resolve(), original_path(before)
    beside = old and PurePosixPath(old).parent == PurePosixPath(before.path).parent
    number = _free_version(before)
    vault, original = before.vault, old if beside else None
    with files.retired(vault, before.path, data, original, number) as retired:
        files.put(vault, target, note, source, keep, replaced=data)
    if not old:
        return
    archived = root / f"{retired.removesuffix('.md')}{''.join(PurePosixPath(old).suffixes)}"
    # The old one lies elsewhere, or none is kept any more: its version in the history has it.
    if old != target.original and not os.path.lexists(archived):
        (root / old).replace(archived)
    elif old != target.original:
        (root / old).unlink()


def _free_version(before: StoredDocument) -> int:
    """The first number from the version on that is free in the history or belongs to this document.

    After a note is moved, another note may use its name. That note's versions belong to another
    document.
    """
    stem, number = PurePosixPath(before.path).stem, before.version
    folder = inside(before.vault.root, HISTORY)
    while (folder / f"{stem}.v{number}.md").exists():
        if read_fields(before.vault, f"{HISTORY}/{stem}.v{number}.md").get("id") == before.id:
            break
        number += 1
    return number


def _same_place(before: StoredDocument, suffix: str, keep: Keep) -> DocumentPlace:
    """The paths of the next version. Its original must not replace another file."""
    original = before.path.removesuffix(".md") + suffix
    if keep == "no":
        return DocumentPlace(before.path, None)
    if original != original_path(before):
        parent = PurePosixPath(before.path).parent
        folder = inside(before.vault.root, str(parent))
        taken = {fold(name) for name in files.names(folder)}
        stem = unique(PurePosixPath(before.path).stem, lambda name: fold(name + suffix) in taken)
        original = str(parent / (stem + suffix))
    return DocumentPlace(before.path, original)


def _carried(data: bytes) -> dict[str, Any]:
    """The user's own front matter in the earlier version."""
    fields = frontmatter.read(decode(data)[0]).fields
    return {key: value for key, value in fields.items() if value and fold(key.strip()) not in _OWN}
