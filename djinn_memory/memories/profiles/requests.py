"""The profile of an agent, as answers show it. The module is cheap to import for front ends."""

from __future__ import annotations

from msgspec import Struct, field

from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.models import Problem


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
    """The profile of an agent: a note in its own vault. `text` is what stands below the keys."""

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
