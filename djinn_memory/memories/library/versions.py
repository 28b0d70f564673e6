"""Which document a file is the next version of: told by where it lies, else by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.documents.sources import Source
from djinn_memory.documents.titles import clean
from djinn_memory.memories.library.catalog import StoredDocument, head, history


class File(Struct, frozen=True):
    """A file with its bytes' hash; `was` is the id of the document that it last was, if any."""

    source: Source
    sha256: str
    size: int
    was: str | None
    label: str
    """What its note is called if it is new."""


def predecessors(
    there: Sequence[StoredDocument], files: Sequence[File]
) -> list[StoredDocument | None]:
    """For each file the document that it supersedes; None for one that is a document of its own.

    Of documents and files of one name a wrong guess would hide a document, so that what is not
    sure is none: a document that two files claim, or that another of `files` still is.
    """
    held = {file.sha256 for file in files}
    names = Counter(clean(file.source.name) for file in files)
    known = {one.fields.get("sha256") for one in there}
    claims: list[StoredDocument | None] = []
    for file in files:
        name = clean(file.source.name)
        same = [one for one in there if one.filename == name]
        if file.sha256 in known:
            claims.append(None)
        elif file.was:
            claims.append(_now(file.was, same))
        else:
            alone = len(same) == 1 and names[name] == 1 and name == file.source.name
            claims.append(same[0] if alone else None)
    claimed = Counter(one.note_id for one in claims if one)
    return [
        one if one and claimed[one.note_id] == 1 and one.fields.get("sha256") not in held else None
        for one in claims
    ]


def _now(was: str, same: Sequence[StoredDocument]) -> StoredDocument | None:
    """The document that has the id `was`, or superseded the one that had it."""
    for one in same:
        if one.id == was:
            return one
    for one in same:
        if any(head(one.vault, path).get("id") == was for path in history(one)):
            return one
    return None


def current(before: StoredDocument, there: Sequence[StoredDocument]) -> StoredDocument | None:
    """`before` as it is among the documents `there` are now; None if it is none of them."""
    if before.id:
        return _now(before.id, [one for one in there if one.filename == before.filename])
    return next((one for one in there if one.path == before.path), None)


def unchanged(before: StoredDocument) -> bool:
    """Whether the note of `before` is still where the index had it, and the same version."""
    now = head(before.vault, before.path)
    return (now.get("id"), now.get("sha256")) == (before.id, before.fields.get("sha256"))
