"""Requests and answers of episodes. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.memories.episodes.importance import Importance
from djinn_memory.memories.recall.requests import Session
from djinn_memory.models import Memory, MemoryRef, Problem
from djinn_memory.search.narrowing import AgentName

MAX_TEXT = 200_000
"""Characters of a message, and of a response."""

MAX_CONTEXT = 100_000
"""Characters of a context as JSON: it is one line of the journal."""

Channel = Literal["cli", "api", "slack", "voice"]
EpisodeKind = Literal["interaction", "observation"]

_Time = Annotated[
    Annotated[str, Meta(max_length=40)] | None,
    Meta(description="When it happened, such as 2026-11-20T09:30Z. Default: now."),
]
_Context = Annotated[
    dict[str, Any] | None, Meta(description="What else is known of the moment: a JSON object.")
]


class RecordInteraction(Struct, frozen=True):
    """Record a message and the response to it as an episode. Secrets are masked."""

    message: Annotated[str, Meta(max_length=MAX_TEXT, description="What was said to the agent.")]
    response: Annotated[
        str, Meta(max_length=MAX_TEXT, description="What the agent answered.")
    ] = ""  # fmt: skip
    channel: Annotated[Channel, Meta(description="Where it was said.")] = "api"
    context: _Context = None
    at: _Time = None
    session: Session = None
    agent: AgentName = None


class RecordObservation(Struct, frozen=True):
    """Record something that was seen to happen as an episode. Secrets are masked."""

    text: Annotated[str, Meta(max_length=MAX_TEXT, description="What happened.")]
    channel: Annotated[Channel, Meta(description="Where it was seen.")] = "api"
    context: _Context = None
    at: _Time = None
    session: Session = None
    agent: AgentName = None


class ListEpisodes(Struct, frozen=True):
    """List episodes, the newest first."""

    session: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(description="Only episodes of this session."),
    ] = None
    kind: Annotated[EpisodeKind | None, Meta(description="Only episodes of this kind.")] = None
    channel: Annotated[Channel | None, Meta(description="Only episodes of this channel.")] = None
    since: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="From this day on: 2026-03-01, 2026-03, 30d, yesterday."),
    ] = None
    until: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="Up to and including this day."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The maximum number of episodes.")] = 20
    skip: Annotated[
        int, Meta(ge=0, le=10_000_000, description="How many of the newest episodes to skip.")
    ] = 0
    agent: AgentName = None


class ShowEpisode(Struct, frozen=True):
    """Show one episode: its words, its context, and how its importance adds up."""

    name: Annotated[
        str,
        Meta(min_length=1, max_length=1000, description="The episode: its id, or its address."),
    ]
    agent: AgentName = None


class CountEpisodes(Struct, frozen=True):
    """Count episodes by kind, channel, session and day."""

    since: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="From this day on: 2026-03-01, 2026-03, 30d, yesterday."),
    ] = None
    until: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="Up to and including this day."),
    ] = None
    agent: AgentName = None


class Entity(Struct, frozen=True):
    """Something that a text names."""

    kind: Literal["known", "name", "date", "time", "amount", "url", "hashtag"]
    """`known` for a note of the vaults; its title or an alias stands in the text."""
    text: str
    """As the text has it; of a known entity the title of its note."""
    value: str | None = None
    """A date as ISO 8601; null for the other kinds."""


class RecordedEpisode(MemoryRef, frozen=True, kw_only=True):
    """An episode that was recorded."""

    type: str
    """`interaction` or `observation`."""
    title: str
    """The first words of the message."""
    session: str
    """The session it belongs to."""
    created: str
    """When it happened, as ISO 8601 in UTC."""
    importance: Importance
    """How important it is, by its parts."""
    entities: tuple[Entity, ...]
    """What its text names."""
    intents: tuple[str, ...]
    """What its message asks for or reports: create, update, complete, delete, question."""
    masked: int
    """How many secrets were masked."""
    searchable: Literal["words and meaning", "words", "later"]
    """How it is found from now on; `later` when the index could not be updated at once."""
    problems: list[Problem]
    """What went wrong beside the recording."""


class Episode(Memory, frozen=True, kw_only=True):
    """An episode, as a list shows it."""

    session: str | None
    """The session it belongs to."""
    channel: str | None
    """Where it was said or seen."""
    importance: float | None
    """From 0 to 1."""


class EpisodePage(Struct, frozen=True):
    """A page of a list of episodes."""

    episodes: Sequence[Episode]
    """The newest first."""
    total: int
    """How many episodes there are on all pages."""


class EpisodeDetail(Episode, frozen=True, kw_only=True):
    """A whole episode."""

    message: str
    """What was said or seen, with its secrets masked."""
    response: str | None
    """What was answered; null for an observation."""
    context: dict[str, Any] | None
    """What else was recorded of the moment."""
    entities: tuple[str, ...]
    """What it names, each as `kind: text`."""
    intents: tuple[str, ...]
    """What its message asks for or reports."""
    parts: Importance
    """How its importance adds up, counted again from its words."""


class EpisodeStats(Struct, frozen=True):
    """Counts of episodes."""

    total: int
    """How many there are."""
    kinds: dict[str, int]
    """How many of each kind."""
    channels: dict[str, int]
    """How many of each channel."""
    sessions: int
    """How many sessions they belong to."""
    days: dict[str, int]
    """How many on each day, in UTC, the newest first; days without one are left out."""
    importance: float | None
    """Their mean importance; null when there are none."""
