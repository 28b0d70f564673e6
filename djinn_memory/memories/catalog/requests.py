"""Requests about the memories of a home. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.models import MemoryRef
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, DryRun, Narrowing

MemoryName = Annotated[
    RawText,
    Meta(
        min_length=1,
        max_length=1000,
        description="The memory: an id, `vault:path`, a path, a title, an alias or a file name.",
    ),
]
MIN_BUDGET, MOST_BUDGET = 100, 1_000_000
"""In tokens: a smaller context holds no memory, and no model reads more."""

CatalogField = Literal[
    "tag",
    "type",
    "title",
    "document",
    "entity",
    "kind",
    "fact",
    "category",
    "key",
    "session",
    "pattern",
]


class ListMemories(Narrowing, frozen=True):
    """List memories, newest first."""

    limit: Annotated[int, Meta(ge=1, le=10_000, description="The maximum number of memories.")] = 50
    skip: Annotated[
        int, Meta(ge=0, le=10_000_000, description="How many of the newest memories to skip.")
    ] = 0
    expired: Annotated[bool, Meta(description="Include memories that have expired.")] = False


class _NamedMemory(Struct, frozen=True):
    """A request about one memory that the agent sees."""

    name: MemoryName
    agent: AgentName = None


class ShowMemory(_NamedMemory, frozen=True):
    """Show a whole note, its links and its backlinks. This counts as a use of the note."""

    why: Annotated[
        bool, Meta(description="Show its origin: evidence, author, rule, session and history.")
    ] = False


class FindMemory(_NamedMemory, frozen=True):
    """Find the memory that a name means."""


class ShowLinks(_NamedMemory, frozen=True):
    """Show the links and backlinks of a memory. This does not count as a use of it."""


class DeleteMemory(_NamedMemory, frozen=True):
    """Move a note to the trash of its vault, with its earlier versions."""

    digest: Annotated[
        str | None,
        Meta(
            description="Only if the note is unchanged since `memories.find` returned this digest."
        ),
    ] = None
    dry_run: DryRun = False


class RestoreMemory(Struct, frozen=True):
    """Restore a note from the trash of its vault, with its earlier versions."""

    name: Annotated[
        RawText | None,
        Meta(description="The note: its path, id or title. Default: lists the trash."),
    ] = None
    agent: AgentName = None
    dry_run: DryRun = False


class PurgeMemory(_NamedMemory, frozen=True):
    """Remove a memory permanently: the note, its earlier versions and its copies in the trash.

    Its words are removed from the index, its vectors from the cache, and quotations of its title
    and text from the ledger. Copies elsewhere, such as in git or in a backup, are not touched.
    """

    files: Annotated[
        Sequence[RawText] | None,
        Meta(description="Only if exactly these files would be removed, as a dry run lists them."),
    ] = None
    dry_run: DryRun = False


class CountMemories(Narrowing, frozen=True):
    """Count memories by type, plane, tag and vault."""


class ListValues(Struct, frozen=True):
    """List the values of a field in the index, such as all tags, without refreshing it."""

    field: Annotated[CatalogField, Meta(description="What to list.")]
    agent: AgentName = None


class MemoryExcerpt(MemoryRef, frozen=True, kw_only=True):
    """An excerpt of a memory that fits into the budget."""

    type: str | None
    """The type, such as `commitment`."""
    plane: str | None
    """The plane of the type; null for a plain note."""
    title: str
    """The title of the memory."""
    written: str
    """The time when it was written, else its date."""
    due: str | None = None
    """The due date of a commitment, if it has one."""
    overdue: bool = False
    """Whether the due date has passed."""
    holds: str | None = None
    """The period in words, such as `until 3 May 2026`; null without a period."""
    text: str
    """The text below the front matter."""
    cut: bool = False
    """Whether the text was cut."""
    rank: int | None = None
    """Its rank in the recall for the task, as `rate` accepts it."""
    lines: tuple[int, int] | None = None
    """The first and the last line of the passage in its file, if the recall found a passage."""
    page_number: int | None = None
    """The page of the passage in its document, if it has pages."""
    score: float = 0.0
    """The score of the recall. All parts of a context have one scale."""
    via: tuple[str, ...] = ()
    """For a memory that links raised: the titles of those that lead to it, as in a search."""
