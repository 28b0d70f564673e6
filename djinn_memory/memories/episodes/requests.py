"""Requests and answers about episodes. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.memories.recall.requests import Session
from djinn_memory.models import Memory, MemoryRef, Problem
from djinn_memory.operations.checks import RawDay, RawName, RawText
from djinn_memory.search.narrowing import AgentName, DomainName, SinceDay, UntilDay

MAX_TEXT = 200_000
"""Maximum characters of a message and of a response."""

MAX_CONTEXT = 100_000
"""Maximum characters of a context as JSON, which is one line of the journal."""

CALENDAR = "calendar"
"""The channel of the events of calendars, which are no turns of a conversation."""

Channel = Literal["cli", "api", "slack", "voice"]
EpisodeKind = Literal["interaction", "observation"]
EpisodeType = Literal["interaction", "observation", "outcome"]

_Time = Annotated[
    RawDay | None,
    Meta(
        description="The time, such as 2026-11-20T09:30; local unless it has a zone. Default: now."
    ),
]
_Context = Annotated[
    dict[RawText, Any] | None, Meta(description="More data about the episode: a JSON object.")
]


class RecordInteraction(Struct, frozen=True):
    """Record a message and the response to it as an episode. Secrets are masked."""

    message: Annotated[RawText, Meta(max_length=MAX_TEXT, description="The message to the agent.")]
    response: Annotated[
        RawText, Meta(max_length=MAX_TEXT, description="What the agent answered.")
    ] = ""  # fmt: skip
    channel: Annotated[Channel, Meta(description="Where it was said.")] = "api"
    context: _Context = None
    domain: DomainName = None
    at: _Time = None
    session: Session = None
    agent: AgentName = None


class RecordObservation(Struct, frozen=True):
    """Record an observation as an episode. Secrets are masked."""

    text: Annotated[RawText, Meta(max_length=MAX_TEXT, description="What happened.")]
    channel: Annotated[Channel, Meta(description="Where it was seen.")] = "api"
    context: _Context = None
    domain: DomainName = None
    at: _Time = None
    session: Session = None
    agent: AgentName = None


class ListEpisodes(Struct, frozen=True):
    """List episodes, newest first."""

    session: Annotated[RawName | None, Meta(description="Only episodes of this session.")] = None
    kind: Annotated[EpisodeKind | None, Meta(description="Only episodes of this kind.")] = None
    channel: Annotated[
        RawName | None,
        Meta(
            description="Only episodes of this channel: cli, api, slack, voice, or that of an "
            "import, such as chatgpt."
        ),
    ] = None
    domain: Annotated[
        Annotated[RawText, Meta(max_length=64)] | None,
        Meta(description="Only episodes of this domain."),
    ] = None
    since: SinceDay = None
    until: UntilDay = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The maximum number of episodes.")] = 20
    skip: Annotated[
        int, Meta(ge=0, le=10_000_000, description="How many of the newest episodes to skip.")
    ] = 0
    agent: AgentName = None


class ShowEpisode(Struct, frozen=True):
    """Show one episode: its text, its context, and the parts of its importance."""

    name: Annotated[
        RawText,
        Meta(min_length=1, max_length=1000, description="The episode: its id, or its address."),
    ]
    agent: AgentName = None


class MarkEpisodes(Struct, frozen=True):
    """Mark episodes, so that the next consolidation reads them at any age."""

    names: Annotated[
        Sequence[Annotated[RawText, Meta(min_length=1, max_length=1000)]],
        Meta(min_length=1, max_length=1000, description="The episodes: their ids or addresses."),
    ]
    agent: AgentName = None


class CountEpisodes(Struct, frozen=True):
    """Count episodes by kind, channel, session and day."""

    since: SinceDay = None
    until: UntilDay = None
    agent: AgentName = None


class Importance(Struct, frozen=True):
    """The parts of the importance of an episode."""

    base: float
    """The same for every episode."""
    length: float
    """Added for a text above 500 characters, and again above 1,000."""
    entities: float
    """Added for each entity in the text, up to a limit."""
    action: float
    """Added for a message that asks for an action or reports one."""
    question: float
    """Added for a message that asks a question."""
    total: float
    """The sum of the parts, at most 1."""


class MarkedEpisodes(Struct, frozen=True):
    """Episodes that the next consolidation reads at any age."""

    marked: tuple[str, ...]
    """Their ids."""


class Entity(Struct, frozen=True):
    """An entity in a text."""

    kind: Literal["known", "name", "date", "time", "amount", "url", "hashtag"]
    """The kind. `known` means a note whose title or alias occurs in the text."""
    text: str
    """The text as written; for a known entity the title of its note."""
    value: str | None = None
    """A date as ISO 8601; null for the other kinds."""


class RecordedEpisode(MemoryRef, frozen=True, kw_only=True):
    """An episode that was recorded."""

    type: str
    """`interaction` or `observation`."""
    title: str
    """The first words of the message."""
    session: str
    """The session of the episode."""
    created: str
    """The time of the episode, as ISO 8601 in UTC."""
    importance: Importance
    """The importance of the episode, with its parts."""
    entities: tuple[Entity, ...]
    """The entities in its text."""
    intents: tuple[str, ...]
    """The intents of its message: create, update, complete, delete, question."""
    similar_intents: tuple[str, ...]
    """An action intent by the nearest prototype sentence, where the patterns find none. Only a
    process that has loaded the packaged model looks for it."""
    masked: int
    """The number of secrets that were masked."""
    searchable: Literal["words and meaning", "words", "later"]
    """How searches find it from now on; `later` when the index could not be updated at once."""
    problems: list[Problem]
    """Problems other than with recording."""


class Episode(Memory, frozen=True, kw_only=True):
    """An episode, as a list shows it."""

    session: str | None
    """The session it belongs to."""
    channel: str | None
    """The channel of the episode."""
    importance: float | None
    """The importance from 0 to 1."""


class EpisodePage(Struct, frozen=True):
    """A page of a list of episodes."""

    episodes: Sequence[Episode]
    """The episodes, newest first."""
    total: int
    """The number of episodes on all pages."""


class EpisodeDetail(Episode, frozen=True, kw_only=True):
    """A whole episode."""

    message: str
    """The message or the observation, with its secrets masked."""
    response: str | None
    """The response; null for an observation."""
    context: dict[str, Any] | None
    """Other data that was recorded with it."""
    entities: tuple[str, ...]
    """The entities in it, each as `kind: text`."""
    intents: tuple[str, ...]
    """The intents of its message."""
    similar_intents: tuple[str, ...]
    """The action intent that it had by a similar sentence when it was recorded."""
    parts: Importance
    """The parts of its importance, computed again from its words."""


class EpisodeStats(Struct, frozen=True):
    """Counts of episodes."""

    total: int
    """The number of episodes."""
    kinds: dict[str, int]
    """The number of episodes of each kind."""
    channels: dict[str, int]
    """The number of episodes in each channel."""
    sessions: int
    """The number of their sessions."""
    days: dict[str, int]
    """The number of episodes on each day in the time zone of this machine, newest first. Days
    without episodes are left out."""
    importance: float | None
    """The mean importance; null when there are no episodes."""
    consolidated: int
    """The number of the agent's own episodes, of any day, that `patterns.consolidate` has read."""
    waiting: int
    """The number of its own episodes that were not read yet."""
    ready: int
    """How many of these are old enough to be read now, or marked."""
