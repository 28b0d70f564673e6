"""What is wanted of a run of `djinn ingest`, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct, field

from djinn_memory.documents.pool.pool import Event as Reading
from djinn_memory.models import DocumentType, Problem, Strategy


class IngestOptions(Struct, frozen=True):
    """How to ingest where it is otherwise than the settings say; None is as they say."""

    vault: str | None = None
    title: str | None = None
    document_type: DocumentType | None = None
    strategy: Strategy | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    model_context: str | None = None
    password: str | None = None
    ocr: bool = False
    allow_secret: bool = False
    """Make a document of what looks as if it held a key or a password, too."""


class FileOutcome(Struct, frozen=True):
    """What became of a file."""

    file: str
    """Its path, as it was given or found."""
    filename: str
    """Its name."""
    status: Literal["ingested", "skipped", "failed"]
    """Whether it is a document now, was one before, or is none."""
    why: str | None = None
    """Why it was skipped or failed."""
    document_id: str | None = None
    """`mem_` and 16 characters; null for one that failed."""
    title: str | None = None
    """What the document is called."""
    vault: str | None = None
    """The name of the vault it is in."""
    path: str | None = None
    """Its note, relative to the folder of the vault."""
    content_type: str | None = None
    """The MIME type, told from the content."""
    total_pages: int | None = None
    """Null for a file without pages."""
    chunks_created: int = 0
    """How many parts it was cut into."""
    chunk_strategy: Strategy | None = None
    """How it was cut."""
    chunk_size_tokens: int | None = None
    """The most tokens of a chunk; null where the strategy counts characters."""
    document_type: DocumentType | None = None
    """As it was given."""
    version: int = 1
    """2 and more for a file that superseded one of its name."""
    warnings: tuple[str, ...] = ()
    """What was left out or is doubtful."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """All that the front matter of its note says."""


class IngestReport(Struct, frozen=True):
    """What became of all files."""

    done: int
    """Files that are documents now."""
    skipped: int
    """Files that were documents before."""
    failed: int
    """Files that are none."""
    documents: tuple[FileOutcome, ...]
    """Each file's, in the order in which they were done."""
    embedded: int
    """Texts that the model embedded."""
    seconds: float
    """How long it took."""
    problems: tuple[Problem, ...] = ()
    """What went wrong beside the files, such as a model that cannot be had."""


Tell = Callable[[Reading | FileOutcome], None]
Ask = Callable[[str, str], str | None]
"""Given a file's name and why it is locked: a password, or None to give up."""


def no_password(name: str, why: str) -> None:
    """The `Ask` of those who cannot be asked."""
