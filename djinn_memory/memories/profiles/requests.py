"""The profile of an agent, as answers show it. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.models import Problem
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, AllowSecret, OnlyAgent


class CalendarEvent(Struct, frozen=True):
    """An event of the day of an agent, from an imported calendar."""

    title: str
    """The title, with the place in parentheses."""
    when: str
    """The time in words, in the time zone of the agent: `09:00 to 10:30`, or `all day`."""
    start: str
    """The start: a time with its offset, or the first day of an event of whole days."""
    end: str | None
    """The end, or the last day; null if the calendar does not say."""
    all_day: bool
    """Whether it takes whole days."""
    over: bool
    """Whether it has ended."""
    calendar: str
    """The name of the calendar."""


class AgentProfile(MemoryExcerpt, frozen=True, kw_only=True):
    """The profile of an agent: a note in its own vault. `text` is the text below the keys."""

    identity: str | None = None
    """Who the agent is, in a sentence."""
    voice: str | None = None
    """The voice: `brief`, `detailed`, `spoken`, or an instruction."""
    instruction: str | None = None
    """How the agent answers, in a sentence; null without a voice."""
    rules: tuple[str, ...] = ()
    """The rules that the agent follows."""
    projects: tuple[str, ...] = ()
    """The active projects, as links."""
    working_hours: tuple[str, ...] = ()
    """The working hours, such as `mon-fri 09:00-17:00`."""
    time_zone: str | None = None
    """The time zone of the agent, such as `Europe/Oslo`; null for that of this machine."""
    working: bool | None = None
    """Whether it is a working hour now; null without working hours."""
    working_now: str | None = None
    """The same in words, such as `within working hours until 17:00`."""
    default_domain: str | None = None
    """The domain of what the agent writes, if none is given."""
    default_budget: int | None = None
    """The token budget of `wake` and `context`, if none is given."""
    default_recall_profile: str | None = None
    """The profile of a recall, if none is given."""
    wrong: dict[str, str] = field(default_factory=dict)
    """The keys with values that cannot be used, each with the reason."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The same as problems of an answer."""
        name = f"{self.vault}/{self.path}"
        return tuple(Problem(name, f"{key}: {why}") for key, why in self.wrong.items())


ProfileKeyName = Literal[
    "identity", "voice", "rules", "projects", "working_hours", "time_zone", "default_domain",
    "default_budget", "default_recall_profile",
]  # fmt: skip
"""The keys of a profile; see `profiles.settings.KEYS`."""

_Key = Annotated[ProfileKeyName, Meta(description="The key.")]
_Value = Annotated[RawText, Meta(max_length=2000)]


class ListAgents(Struct, frozen=True):
    """List the agents."""

    agent: OnlyAgent = None


class AgentEntry(Struct, frozen=True):
    """An agent, in a list."""

    name: str
    """The name of the agent, as `--agent` accepts it."""
    vault: str | None
    """The folder of the agent's vault, as written in the settings; null if it has no vault, and
    in a list for an agent."""


class AgentEntries(Struct, frozen=True):
    """The agents of the home."""

    agents: Sequence[AgentEntry]
    """The agents; the first is the default. For an agent, only that agent."""


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
    allow_secret: AllowSecret = False
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
    """The action that was taken: `created` for a new note."""
    profile: AgentProfile | None
    """The profile after the change; null if the agent has none."""
    problems: tuple[Problem, ...] = ()
    """Problems that keep the note from being searchable at once."""
    change: str | None = None
    """The id of the change, which `djinn undo` takes back."""
