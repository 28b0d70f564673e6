"""Requests about the profiles of agents. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.memories.profiles.requests import AgentProfile, CalendarEvent
from djinn_memory.models import Problem
from djinn_memory.search.narrowing import AgentName, RawText

ProfileKeyName = Literal[
    "identity", "voice", "rules", "projects", "working_hours", "time_zone", "default_domain",
    "default_budget", "default_recall_profile",
]  # fmt: skip
"""The keys of a profile; see `profiles.settings.KEYS`."""

_Key = Annotated[ProfileKeyName, Meta(description="The key.")]
_Value = Annotated[RawText, Meta(max_length=2000)]


class ShowProfile(Struct, frozen=True):
    """Show the profile of an agent."""

    agent: AgentName = None


class SetProfile(Struct, frozen=True):
    """Set a key in the profile of an agent. The note is created if there is none."""

    key: _Key
    values: Annotated[
        Sequence[_Value],
        Meta(
            min_length=1,
            max_length=50,
            description="The value. `rules`, `projects` and `working_hours` take several; for the "
            "other keys the words are one value.",
        ),
    ]
    add: Annotated[
        bool, Meta(description="Add to the values of the key instead of replacing them.")
    ] = False
    allow_secret: Annotated[
        bool, Meta(description="Write it even if it looks like a key or a password.")
    ] = False
    agent: AgentName = None


class UnsetProfile(Struct, frozen=True):
    """Remove a key from the profile of an agent, or some of its values."""

    key: _Key
    values: Annotated[
        Sequence[_Value],
        Meta(max_length=50, description="Only these values. Default: all, with the key."),
    ] = ()
    agent: AgentName = None


class ProfileView(Struct, frozen=True):
    """The profile of an agent, if it has one."""

    agent: str
    """The agent."""
    profile: AgentProfile | None
    """Its profile; null if it has none."""
    calendar: tuple[CalendarEvent, ...] = ()
    """The events of its day, from imported calendars."""
    problems: tuple[Problem, ...] = ()
    """Values that cannot be used."""


class ProfileChange(Struct, frozen=True):
    """The result of a change of a profile."""

    agent: str
    """The agent."""
    action: Literal["created", "changed", "unchanged"]
    """What was done: `created` for a new note."""
    profile: AgentProfile | None
    """The profile after the change; null if the agent has none."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the note from being searchable at once."""
