"""Requests and answers about changes of notes that can be taken back."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MemoryName
from djinn_memory.memories.changes.history import ChangeStatus
from djinn_memory.models import Memory, Problem
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, OnlyAgent


class UndoChange(Struct, frozen=True):
    """Take back the caller's last change of notes, or the change with an id."""

    change: Annotated[
        Annotated[str, Meta(max_length=1000)] | None,
        Meta(
            description="The id of the change, as `djinn undo --list` shows it. Default: your last "
            "change that was not taken back."
        ),
    ] = None
    dry_run: Annotated[bool, Meta(description="Report what would be done, without doing it.")] = (
        False
    )
    agent: Annotated[
        RawText | None,
        Meta(description="Take back a change of this agent. Default: a person may take back all."),
    ] = None


class ListChanges(Struct, frozen=True):
    """List the changes that djinn made to notes, newest first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of changes.")] = 20
    agent: OnlyAgent = None


class ShowVersions(Struct, frozen=True):
    """Show how a note was changed by djinn, newest first."""

    name: MemoryName
    limit: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of changes.")] = 20
    agent: AgentName = None


class ChangedFile(Struct, frozen=True):
    """A file of a change."""

    vault: str
    """The name of its vault."""
    path: str
    """Its path, relative to the folder of the vault."""
    action: str
    """The action of the change on the file: `created`, `changed` or `removed`."""


class ChangeEntry(Struct, frozen=True):
    """A change that djinn made to notes."""

    id: str
    """`chg_` and ten characters."""
    at: str
    """The time of the change, as ISO 8601 in UTC."""
    command: str
    """The command that made it."""
    what: str
    """The change, in one sentence."""
    status: ChangeStatus
    """`done` if it can be taken back, `taken back`, or `expired` if the bytes before it are no
    longer kept."""
    files: tuple[ChangedFile, ...]
    """Its files."""
    undoes: str | None = None
    """The id of the change that it took back; null for other changes."""
    by: str | None = None
    """The agent on whose word it was made; `djinn watch` for its upkeep, null for a person."""


class ChangeList(Struct, frozen=True):
    """The changes that djinn made to notes."""

    changes: tuple[ChangeEntry, ...]
    """The changes, newest first."""


class NoteVersion(Struct, frozen=True):
    """A change of a note, and what differs since the version before it."""

    change: str
    """The id of the change, for `djinn undo`."""
    at: str
    """The time of the change, as ISO 8601 in UTC."""
    command: str
    """The command that made it."""
    by: str | None
    """The agent on whose word it was made; null for a person."""
    status: ChangeStatus
    """`done` if it can be taken back, `taken back`, or `expired`."""
    diff: str | None
    """The lines that differ from the version before it to the next that is known, as a unified diff
    without its header. Edits by other programs in between are part of it. Null if one of the two is
    no longer kept, is longer than 5,000 lines, or may hold what the agent must not see."""


class NoteVersions(Struct, frozen=True):
    """The versions of a note."""

    memory: Memory
    """The note."""
    versions: tuple[NoteVersion, ...]
    """The versions, newest first."""


class UndoReport(Struct, frozen=True):
    """The result of an undo, or of its dry run."""

    change: ChangeEntry
    """The change that is taken back."""
    files: tuple[ChangedFile, ...]
    """The files, each with the action of the undo on it."""
    undone: bool
    """Whether it was taken back; false for a dry run."""
    undo: str | None = None
    """The id of the undo, which is a change itself and can be taken back."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the notes from being searchable at once."""
