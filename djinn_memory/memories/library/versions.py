"""Decides which document a file is the next version of, by its path, else by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.documents.sources import Source
from djinn_memory.documents.titles import clean
from djinn_memory.memories.library.catalog import StoredDocument, history, read_fields


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
