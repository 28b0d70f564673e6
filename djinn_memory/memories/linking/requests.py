"""Requests and answers about links that are not there yet. The module is cheap to import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MemoryName
from djinn_memory.models import Memory, Problem
from djinn_memory.operations.checks import RawDay, RawText
from djinn_memory.search.narrowing import AgentName, DiffOnly

ALL = "all"
"""Stands for the keys of all mentions."""


class FindRelated(Struct, frozen=True):
    """Find memories that are near in meaning to a memory, and not linked with it."""

    name: MemoryName
    limit: Annotated[int, Meta(ge=1, le=50, description="The maximum number of memories.")] = 10
    agent: AgentName = None


class RelatedMemory(Memory, frozen=True, kw_only=True):
    """A memory that is near in meaning to another."""

    similarity: float
    """How near it is: a cosine on the scale of the packaged model, at most about 1."""


class RelatedMemories(Struct, frozen=True):
    """The memories that are near in meaning to a memory, without a link either way."""

    memory: Memory
    """The memory that was named."""
    related: tuple[RelatedMemory, ...]
    """The nearest first."""
    problems: tuple[Problem, ...] = ()
    """The reason why none can be known to be near, such as vectors that are missing."""


class FindMentions(Struct, frozen=True):
    """Find places in other notes that say a name of a note in plain text, without a link."""

    name: MemoryName
    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of places.")] = 20
    agent: AgentName = None


class UnlinkedMention(Memory, frozen=True, kw_only=True):
    """A place where a note says a name of another note without a link, with that note."""

    key: str
    """Its name for `memories.link_mentions`. It changes with the text of its line."""
    line: int
    """The line in the file, from 1."""
    text: str
    """The line, shortened."""
    words: str
    """The words that say the name, as written."""
    also: tuple[str, ...] = ()
    """Other memories that have the name, as `vault:path`."""


class NameLeftOut(Struct, frozen=True):
    """A name of a note that is not looked for, or not in every spelling."""

    name: str
    """The title or the alias."""
    why: str
    """The reason, in one sentence."""


class UnlinkedMentions(Struct, frozen=True):
    """The places that mention a note without a link."""

    memory: Memory
    """The note that was named."""
    mentions: tuple[UnlinkedMention, ...]
    """The places, those in the newest notes first."""
    more: bool
    """Whether there are more than the limit."""
    left_out: tuple[NameLeftOut, ...] = ()
    """Names that are too common to be looked for."""


class LinkMentions(Struct, frozen=True):
    """Turn mentions of a note into links, in one change. Every other byte stays."""

    name: MemoryName
    mentions: Annotated[
        Sequence[RawDay],
        Meta(
            min_length=1,
            max_length=1000,
            description="The keys of mentions, or `all`, which leaves out names that other "
            "notes have too.",
        ),
    ]
    dry_run: DiffOnly = False
    agent: AgentName = None


class LinkedMentions(Struct, frozen=True):
    """The result of turning mentions into links, or of its dry run."""

    memory: Memory
    """The note that the links lead to."""
    links: int
    """The number of links that were written, or would be."""
    notes: tuple[str, ...]
    """The notes that were changed, or would be, as `vault/path`."""
    left: int
    """The number of mentions that `all` left out, because other notes have the name too."""
    diff: str
    """The changes, as a unified diff."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if nothing was changed."""
    problems: tuple[Problem, ...] = ()
    """Notes with mentions that cannot be changed, and problems with indexing."""


class LinkNotes(Struct, frozen=True):
    """Link a note to another: in its front matter, or in a line at its end."""

    name: MemoryName
    to: Annotated[
        RawText, Meta(min_length=1, max_length=1000, description="The note that the link leads to.")
    ]
    relation: Annotated[
        Annotated[str, Meta(min_length=1, max_length=100)] | None,
        Meta(
            description="The field of the front matter, such as related, depends_on, blocks or "
            "supersedes."
        ),
    ] = None
    dry_run: DiffOnly = False
    agent: AgentName = None


class NoteLink(Struct, frozen=True):
    """The result of linking two notes, or of its dry run."""

    memory: Memory
    """The note with the link."""
    target: Memory
    """The note that the link leads to."""
    relation: str | None
    """The field of the front matter with the link; null for a link in the text."""
    changed: bool
    """Whether the link is new."""
    diff: str
    """The change, as a unified diff."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the note from being searchable at once."""
