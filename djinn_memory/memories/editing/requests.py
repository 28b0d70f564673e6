"""Requests and answers about changes of a note. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MemoryName
from djinn_memory.models import Memory, Problem
from djinn_memory.search.narrowing import AgentName, AllowSecret, DiffOnly

_Short = Annotated[str, Meta(max_length=500)]
_Tags = Annotated[Sequence[_Short], Meta(max_length=50)]


class RenameMemory(Struct, frozen=True):
    """Give a note another title and file name. Links to it follow."""

    name: MemoryName
    title: Annotated[str, Meta(min_length=1, max_length=500, description="The new title.")]
    dry_run: DiffOnly = False
    agent: AgentName = None


class MoveMemory(Struct, frozen=True):
    """Move a note to another folder or vault. Links to it follow."""

    name: MemoryName
    to: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description="The folder in the vault of the note, the name of another vault, or "
            "`vault:folder`.",
        ),
    ]
    dry_run: DiffOnly = False
    agent: AgentName = None


class EditMemory(Struct, frozen=True):
    """Edit the front matter of a note. Every other byte stays."""

    name: MemoryName
    fields: Annotated[
        Sequence[Annotated[str, Meta(max_length=20_000)]],
        Meta(
            max_length=50,
            description="Fields to set, as KEY=VALUE. A field without a value is removed.",
        ),
    ] = ()
    tags: Annotated[_Tags, Meta(description="Tags to add.")] = ()
    untag: Annotated[_Tags, Meta(description="Tags to remove.")] = ()
    status: Annotated[_Short | None, Meta(description="The status, such as done.")] = None
    json_value: Annotated[
        bool, Meta(description="Parse the values as JSON. Lists and objects become YAML.")
    ] = False
    dry_run: DiffOnly = False
    agent: AgentName = None
    allow_secret: AllowSecret = False


class WriteMemory(Struct, frozen=True):
    """Write the whole text of a note, with its front matter."""

    name: Annotated[
        MemoryName, Meta(description="The note; for a new one `vault:path`, which ends in `.md`.")
    ]
    text: Annotated[str, Meta(description="The text with its front matter.")]
    digest: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(
            description="The digest of the text that this one replaces, as `memories.find` and "
            "this operation return it. Without one, a new note is written."
        ),
    ] = None
    agent: AgentName = None
    allow_secret: AllowSecret = False


class LinksLeft(Struct, frozen=True):
    """Links in a vault that were not changed. They lead to the note by an alias."""

    vault: str
    """The name of the vault."""
    links: int
    """The number of links."""
    why: str
    """The reason, such as `read only`."""


class MemoryMove(Struct, frozen=True):
    """The result of a rename or a move, or of its dry run."""

    memory: Memory
    """The memory at its new place, with its new title."""
    was: str
    """Its place before, as `vault/path`."""
    links: int
    """The number of links that were changed, or would be."""
    notes: tuple[str, ...]
    """The notes with links that were changed, or would be, as `vault/path`."""
    left: tuple[LinksLeft, ...] = ()
    """Links that stay as they are."""
    aliases: tuple[str, ...] = ()
    """The old names that became aliases of the note, because something refers to them."""
    diff: str = ""
    """The changes of a dry run, as a unified diff."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null for a dry run."""
    problems: tuple[Problem, ...] = ()
    """Links that lead nowhere afterwards, and problems that keep notes from being searchable at
    once."""


class MemoryEdit(Struct, frozen=True):
    """The result of an edit of a note's front matter, or of its dry run."""

    vault: str
    """The name of the vault."""
    path: str
    """The path of the note in it."""
    changed: bool
    """Whether anything differs from before."""
    diff: str
    """The changes, as a unified diff."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if nothing differs from before."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the note from being searchable at once."""


class WrittenMemory(Struct, frozen=True):
    """A note whose whole text was written."""

    vault: str
    """The name of the vault."""
    path: str
    """The path of the note in it."""
    id: str | None
    """The id of the note, if it has one."""
    created: bool
    """Whether the note is new."""
    digest: str
    """The digest of its file, which the next request to write it must name."""
    change: str | None = None
    """The id of the change, for `djinn undo`; null if nothing differs from before."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the note from being searchable at once."""
