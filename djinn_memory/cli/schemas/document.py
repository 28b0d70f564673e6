"""What `djinn ingest` and `djinn document` print with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.memories.library.requests import DocumentEntry, IngestReport
from djinn_memory.models import Problem


class Ingest(
    IngestReport, frozen=True, tag="djinn.ingest/1", tag_field="schema", forbid_unknown_fields=True
):
    """What became of files."""


class DocumentList(
    Struct, tag="djinn.document.list/1", tag_field="schema", forbid_unknown_fields=True
):
    """Documents, and files that became none."""

    documents: Sequence[DocumentEntry]
    """By the name of their file; then what is no document, the oldest first."""
    problems: Sequence[Problem] = ()


class DocumentShow(
    Struct, tag="djinn.document.show/1", tag_field="schema", forbid_unknown_fields=True
):
    """A document and its text."""

    document: DocumentEntry
    """What is known of it."""
    page: int | None
    """The page whose text follows; null for all of it."""
    text: str
    """Markdown, without the front matter."""
    versions: Sequence[str]
    """Paths of earlier versions and of their files in the vault."""
    problems: Sequence[Problem] = ()


class DocumentRemove(
    Struct, tag="djinn.document.remove/1", tag_field="schema", forbid_unknown_fields=True
):
    """A document that was, or would be, moved to the trash."""

    document: DocumentEntry
    """What the name on the command line means."""
    moved_to: Sequence[Path] | None
    """Where its files lie now; null when it stays, for `--dry-run` or a no to the question."""
    problems: Sequence[Problem] = ()


class DocumentReprocess(
    Struct, tag="djinn.document.reprocess/1", tag_field="schema", forbid_unknown_fields=True
):
    """A document that was cut anew."""

    document: DocumentEntry
    """As it is now."""
    embedded: int
    """Texts that the model embedded."""
    problems: Sequence[Problem] = ()
