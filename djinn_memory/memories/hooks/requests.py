"""Requests and answers of `djinn hook`. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.search.narrowing import AgentName

Client = Annotated[
    Literal["claude", "codex", "gemini", "windsurf"],
    Meta(description="The client: claude, codex, gemini or windsurf."),
]
_Project = Annotated[
    bool,
    Meta(description="The client's settings in the current folder, instead of the user's own."),
]


class InstallHooks(Struct, frozen=True):
    """Let a client call `djinn hook` for its events."""

    client: Client
    project: _Project = False
    print: Annotated[bool, Meta(description="Print the settings instead of writing them.")] = False
    agent: AgentName = None


class RemoveHooks(Struct, frozen=True):
    """Remove the hooks of djinn from the settings of a client."""

    client: Client
    project: _Project = False


class HookSettings(Struct, frozen=True):
    """The settings of a client after a change of its hooks."""

    client: str
    """The name of the client, such as `claude`."""
    path: Path
    """The file of its settings."""
    action: Literal["installed", "updated", "unchanged", "removed", "none", "printed"]
    """The action that was taken; `none` if there were no hooks of djinn to remove."""
    events: Sequence[str] = ()
    """The events for which the client calls djinn, or called it before a removal."""
    command: str | None = None
    """The command that it calls; null after a removal."""
    text: str | None = None
    """The whole settings, if they were only printed."""
    note: str | None = None
    """The step that remains to be done in the client; null if there is none."""


class InstalledHook(Struct, frozen=True):
    """Hooks of djinn in the settings of a client."""

    client: str
    """The name of the client, such as `claude`."""
    path: Path
    """The file of its settings."""
    events: Sequence[str]
    """The events for which the client calls djinn."""
    home: str
    """The home to which they record."""
    agent: str
    """The agent for which they record; empty for the default agent."""
    here: bool
    """Whether that is the home of this call."""
    fault: str | None
    """Why they do not work; null if they do."""


class HookState(Struct, frozen=True):
    """The installed hooks, and the spool of this home."""

    hooks: Sequence[InstalledHook]
    """The hooks in the user's own settings and in those of the current folder."""
    unreadable: Sequence[str]
    """The settings that could not be read, each with the reason."""
    spool: Path
    """The folder to which hooks add files."""
    entries: int
    """The number of events in it that no command has taken in yet."""
    bytes: int
    """Their size."""
    full: bool
    """Whether it accepts no more."""
    refused: int
    """The number of events that were refused because it was full."""
    skipped: int
    """The number of inputs that could not be recorded."""
    cut: int
    """The number of events that were recorded with parts cut off."""
    rejected: int
    """The number of lines in `rejected.jsonl`: events that could not be taken in. Their secrets are
    masked."""
    last: str | None
    """The time of the last event, as ISO 8601 in UTC."""
    last_event: str | None
    """The last event, such as `Stop`."""
    lost_at: str | None
    """The time when an event was last lost, as ISO 8601 in UTC."""
    reason: str | None
    """Why the last event that was lost could not be recorded, or answered."""
