"""Requests and answers about the documents of a home."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field

from djinn_memory.models import DocumentType, Problem, Strategy
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, DomainName, DryRun, KeepSecret

if TYPE_CHECKING:
    from djinn_memory.documents.pool import Event

DocumentStatus = Literal["pending", "processing", "indexed", "failed"]

DocumentName = Annotated[
    RawText, Meta(description="The document: the name of its file, its id, its path or its title.")
]


class ChunkOptions(Struct, frozen=True, kw_only=True):
    """Options for dividing a document into chunks. Defaults come from the settings."""

    strategy: Annotated[
        Strategy | None, Meta(description="How the text is divided into chunks.")
    ] = None
    chunk_size: Annotated[
        int | None,
        Meta(
            description="The maximum size of a chunk in tokens; in characters for the "
            "strategy `words`."
        ),
    ] = None
    chunk_overlap: Annotated[
        int | None, Meta(description="The maximum overlap of neighbouring chunks.")
    ] = None
    model_context: Annotated[
        str | None,
        Meta(
            description="The model that will read the chunks, or its context window in tokens: "
            "adaptive, page_based and recursive chunks are 5 % of it."
        ),
    ] = None
    allow_secret: KeepSecret = False
    agent: AgentName = None


class IngestOptions(ChunkOptions, frozen=True):
    """Turn files into documents: notes with the whole text, which searches cite by page."""

    paths: Annotated[Sequence[Path], Meta(description="Files, and folders of files.")] = ()
    recursive: Annotated[bool, Meta(description="Include subfolders.")] = False
    title: Annotated[
        RawText | None, Meta(description="The title of the document; for one file only.")
    ] = None
    document_type: Annotated[
        DocumentType | None, Meta(description="The kind of document. Default: `general`.")
    ] = None
    domain: DomainName = None
    vault: Annotated[
        str | None,
        Meta(description="The vault for the documents. Default: the vault of the agent."),
    ] = None
    password: Annotated[RawText | None, Meta(description="The password of encrypted files.")] = None
    ocr: Annotated[bool, Meta(description="Read scanned pages with ocrmypdf.")] = False
    copy: Annotated[
        bool, Meta(description="Ingest a file even if another vault already has it.")
    ] = False
    retry: Annotated[
        bool, Meta(description="Retry files that failed before and have not changed since.")
    ] = False


class ListDocuments(Struct, frozen=True):
    """List documents and failed files."""

    agent: AgentName = None
    vaults: Annotated[
        Sequence[str], Meta(description="Only these vaults. Default: all that the agent sees.")
    ] = ()


class ShowDocument(Struct, frozen=True):
    """Show the details of a document and its text."""

    name: DocumentName
    page: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Only the text of this page.")
    ] = None
    agent: AgentName = None


class DrawPage(Struct, frozen=True):
    """Draw a page of the original of a document."""

    name: DocumentName
    page: Annotated[int, Meta(ge=1, description="The page, from 1.")] = 1
    width: Annotated[int, Meta(ge=16, le=2000, description="The width in pixels.")] = 800
    agent: AgentName = None


class FindDocument(Struct, frozen=True):
    """Find a document, or a file that failed, by name."""

    name: DocumentName
    agent: AgentName = None


class RemoveDocument(FindDocument, frozen=True):
    """Move a document, the kept file and its earlier versions to the trash of the vault."""

    document_id: Annotated[
        str | None, Meta(description="Only if the document has this id.")
    ] = None  # fmt: skip
    version: Annotated[
        int | None, Meta(description="Only if the document still has this version.")
    ] = None
    dry_run: DryRun = False


class ReprocessDocument(ChunkOptions, frozen=True):
    """Divide a document into chunks again. The text of its note is unchanged."""

    name: DocumentName


class DocumentEntry(Struct, frozen=True):
    """A document, or a file that failed to become one."""

    status: DocumentStatus
    """`pending`: waits to be read or embedded. `failed`: see `reason`."""
    reason: str | None
    """The reason why it failed."""
    document_id: str | None
    """`mem_` and 16 characters; null until it is a note."""
    filename: str
    """The name of its source file."""
    title: str
    """The title in its metadata, else its first heading, else the name of the file."""
    vault: str
    """The name of its vault."""
    path: str | None
    """The path of its note, relative to the folder of the vault; null until it is a note."""
    content_type: str | None
    """The MIME type, detected from the content."""
    document_type: str | None
    """`general`, `technical`, `personal` or `reference`."""
    total_pages: int | None
    """The number of pages; null for a file without pages."""
    total_chunks: int
    """The number of its chunks. A hit is a chunk."""
    chunk_strategy: str | None
    """The strategy that divided it into chunks."""
    chunk_size: int | None
    """The maximum size of a chunk in tokens, or in characters for the strategy `words`."""
    file_size_bytes: int | None
    """The size of the file."""
    sha256: str | None
    """The SHA-256 of the file."""
    version: int
    """The version, from 1. The history contains earlier versions."""
    uploaded_at: str | None
    """The time when it was ingested, as ISO 8601."""
    processed_at: str | None
    """The time when it was last divided into chunks, as ISO 8601."""
    source: str | None = None
    """The absolute path of a file that failed."""
    domain: str | None = None
    """The domain, such as `work`; null for a document without one."""
    author: str | None = None
    """The author in its metadata."""
    subject: str | None = None
    """The subject in its metadata."""
    embedding_model: str | None = None
    """The model of its vectors when it was divided into chunks."""


class DocumentList(Struct, frozen=True):
    """Documents, and files that failed to become one."""

    documents: tuple[DocumentEntry, ...]
    """The documents by file name, then the failed and waiting files, oldest first."""


class DocumentText(Struct, frozen=True):
    """A document and its text."""

    document: DocumentEntry
    """The metadata of the document."""
    page: int | None
    """The page of the text; null for the whole text."""
    text: str
    """The text in Markdown, without the front matter."""
    versions: tuple[str, ...]
    """The paths of earlier versions and their originals in the vault."""


class PagePicture(Struct, frozen=True):
    """A page of a document as a picture."""

    document_id: str | None
    """The id of the document."""
    page: int
    """The page, from 1."""
    png: bytes
    """The picture, a PNG; in JSON as base64."""


class RemovedDocument(Struct, frozen=True):
    """The result of removing a document, or of its dry run."""

    document: DocumentEntry
    """The document that the name means."""
    moved_to: tuple[Path, ...] | None
    """The new paths of its files; null after a dry run."""


class ReprocessedDocument(Struct, frozen=True):
    """The result of dividing a document into chunks again."""

    document: DocumentEntry
    """The document after the change."""
    embedded: int
    """The number of texts that the model embedded."""
    problems: tuple[Problem, ...] = ()
    """Problems that kept the document from being embedded."""


class FileOutcome(Struct, frozen=True):
    """The outcome of one file."""

    file: str
    """The path of the file, as given or as found in a folder."""
    filename: str
    """The name of the file."""
    status: Literal["ingested", "skipped", "failed"]
    """`skipped` if it was already a document."""
    why: str | None = None
    """The reason why it was skipped or failed."""
    document_id: str | None = None
    """`mem_` and 16 characters; null for a file that failed."""
    title: str | None = None
    """The title of the document."""
    vault: str | None = None
    """The name of its vault."""
    path: str | None = None
    """The path of its note, relative to the folder of the vault."""
    content_type: str | None = None
    """The MIME type, detected from the content."""
    total_pages: int | None = None
    """The number of pages; null for a file without pages."""
    chunks_created: int = 0
    """The number of its chunks."""
    chunk_strategy: Strategy | None = None
    """The strategy that divided it into chunks."""
    chunk_size_tokens: int | None = None
    """The maximum tokens of a chunk; null if the strategy counts characters."""
    document_type: DocumentType | None = None
    """The document type as given."""
    version: int = 1
    """The version: 2 or more for a file that superseded an earlier one."""
    warnings: tuple[str, ...] = ()
    """Parts that were left out or are doubtful."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The front matter of its note."""


class IngestReport(Struct, frozen=True):
    """The outcome of a run."""

    done: int
    """The number of files that became documents."""
    skipped: int
    """The number of files that were already documents."""
    failed: int
    """The number of files that failed."""
    documents: tuple[FileOutcome, ...]
    """The outcome of each file, in the order of completion."""
    embedded: int
    """The number of texts that the model embedded."""
    seconds: float
    """The duration."""
    problems: tuple[Problem, ...] = ()
    """Other failures, such as a model that is unavailable."""


IngestCallback = Callable[["Event | FileOutcome"], None]
"""Called when a file is begun, when pages are read, and when a file is done."""

AskPassword = Callable[[str, str], str | None]
"""Takes a file name and the reason why the file is locked; returns a password, or None."""


def no_password(name: str, why: str) -> None:
    """The `AskPassword` for callers that cannot ask."""
