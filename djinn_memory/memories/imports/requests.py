"""Requests and answers about imports. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.models import Problem
from djinn_memory.search.narrowing import AgentName, DomainName

ImportFormat = Literal["jsonl", "claude", "chatgpt", "slack", "calendar"]
FormatChoice = Literal["auto", "jsonl", "claude", "chatgpt", "slack", "calendar"]

FORMATS = (
    "chat logs (JSON, JSON Lines), exports of Claude, ChatGPT and Slack, and calendar files (.ics)"
)
"""The formats that can be imported, for messages."""


class ImportHistory(Struct, frozen=True):
    """Record the conversations and the events in exports of other programs as episodes."""

    paths: Annotated[Sequence[Path], Meta(description="Files, zip archives and folders.")]
    format: Annotated[
        FormatChoice,
        Meta(description="The format of the files. By default it is detected from their content."),
    ] = "auto"
    person: Annotated[
        str | None,
        Meta(
            description="The name of the person whose messages begin interactions, for Slack and "
            "for logs with names instead of roles."
        ),
    ] = None
    domain: DomainName = None
    dry_run: Annotated[bool, Meta(description="Report what would be recorded. Write nothing.")] = (
        False
    )
    agent: AgentName = None


class ImportedFile(Struct, frozen=True):
    """The result of an import for a file, or for the folder of a Slack export."""

    file: str
    """Its path. For a member of an archive, the path of the archive, `/` and its name."""
    format: ImportFormat
    """Its format."""
    sessions: int
    """The number of its conversations, channels, threads or calendars."""
    episodes: int
    """The number of episodes in it: interactions and observations."""
    recorded: int
    """The number of episodes that are new. In a dry run, those that would be recorded."""
    known: int
    """The number of episodes that had been recorded or purged before."""
    left_out: dict[str, int]
    """The number of messages that do not become episodes, by reason."""


class WrittenCalendar(Struct, frozen=True):
    """The note with the coming events of a calendar."""

    vault: str
    """The vault of the note."""
    path: str
    """The path of the note, relative to the folder of the vault."""
    calendar: str
    """The name of the calendar."""
    events: int
    """The number of events in the note."""


class ImportReport(Struct, frozen=True):
    """The result of an import, or of its dry run."""

    files: tuple[ImportedFile, ...]
    """The files, in the order in which they were read."""
    recorded: int
    """The number of episodes that are new."""
    known: int
    """The number of episodes that had been recorded or purged before."""
    masked: int
    """The number of secrets that were masked in the new episodes."""
    embedded: int
    """The number of texts that the model embedded."""
    dry_run: bool
    """Whether nothing was written."""
    seconds: float
    """The duration."""
    calendars: tuple[WrittenCalendar, ...] = ()
    """The notes with the coming events of calendars. `wake` and `context` show those of the day."""
    problems: tuple[Problem, ...] = ()
    """Files, conversations and lines that could not be read. The others are recorded."""
