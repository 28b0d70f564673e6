"""The requests for a briefing, of a session and of a task, and their answers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MIN_BUDGET, MOST_BUDGET, MemoryExcerpt
from djinn_memory.memories.profiles.requests import AgentProfile, CalendarEvent
from djinn_memory.memories.recall.requests import Session
from djinn_memory.models import Known, Problem
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, DomainNames
from djinn_memory.search.query import MOST_HOPS

ContextBudget = Annotated[
    Annotated[int, Meta(ge=MIN_BUDGET, le=MOST_BUDGET)] | None,
    Meta(
        description="The maximum number of tokens of the answer. Default: `default_budget` in the "
        "profile of the agent, else 2000 for `wake` and 4000 for `context`."
    ),
]
"""The token budget of a context."""


class WakeOptions(Struct, frozen=True):
    """Start a session and return its context.

    It has the summary, the profile, the last handoff and checkpoint, open commitments, active
    projects, preferences, the end of the previous conversation, and memories recalled for the task.
    A session that was not ended is reported with its last checkpoint.
    """

    task: Annotated[
        Annotated[RawText, Meta(max_length=2000)] | None,
        Meta(description="The task of the session. Memories about it are recalled."),
    ] = None
    budget: ContextBudget = None
    domains: DomainNames = ()
    session: Session = None
    agent: AgentName = None


class BuildContext(Struct, frozen=True):
    """Collect what memory knows about a task: episodes, patterns, entities and documents.

    One search ranks all of them. Suggestions name due commitments, gaps and patterns that apply.
    """

    task: Annotated[
        Annotated[RawText, Meta(max_length=20_000)] | None,
        Meta(description="The task or a message. Default: the newest memories of each type."),
    ] = None
    budget: ContextBudget = None
    domains: DomainNames = ()
    limit_per_type: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | None,
        Meta(
            description="The maximum number of episodes, patterns, entities and documents, each. "
            "Default: the setting `context.limit`."
        ),
    ] = None
    hops: Annotated[
        int, Meta(ge=1, le=MOST_HOPS, description="Follow so many links from the best memories.")
    ] = MOST_HOPS
    agent: AgentName = None


class UnfinishedSession(Struct, frozen=True):
    """A session that was not ended."""

    session: str
    """The name of the session."""
    since: str
    """The time of the last event in the session, as ISO 8601 in UTC."""
    checkpoint: MemoryExcerpt | None
    """The last checkpoint of the session."""


class AgentContext(Struct, frozen=True, kw_only=True):
    """A briefing for an agent that begins a session or a task."""

    agent: str = ""
    """The agent whose memory was used."""
    profile: AgentProfile | None = None
    """The profile of the agent: its identity, voice, rules, projects and working hours."""
    calendar: tuple[CalendarEvent, ...] = ()
    """The events of the agent's day, from imported calendars."""
    conversation: tuple[MemoryExcerpt, ...] = ()
    """The last turns of the previous session, oldest first. `context` gives them if the setting
    `context.turns` is set."""
    previous_session: str | None = None
    """The session of these turns; null if there are none."""
    episodes: tuple[MemoryExcerpt, ...] = ()
    """Episodes: conversations and events, best first. Without a task, the newest first. The
    next three fields are similar."""
    patterns: tuple[MemoryExcerpt, ...] = ()
    """Learned knowledge: patterns, lessons, decisions and plain notes."""
    entities: tuple[MemoryExcerpt, ...] = ()
    """People, places, projects, concepts and facts."""
    documents: tuple[MemoryExcerpt, ...] = ()
    """Passages of documents, with at most `search.excerpt` characters each."""
    suggestions: tuple[str, ...] = ()
    """Due commitments, open gaps, patterns that apply now, and next steps, a sentence each."""
    built_at: str = ""
    """The time when this was compiled, as ISO 8601 in UTC."""
    query_used: str | None = None
    """The query of the recall: the task. Null without a task."""
    confident: bool | None = None
    """Whether the verdict is sure. Null without a task."""
    request_id: str | None = None
    """The id of the recall, as `rate` accepts it; null if there was none."""
    tokens: int = 0
    """The length of this context as Markdown, in tokens of the packaged model."""
    left_out: int = 0
    """The number of memories that did not fit the budget."""
    problems: tuple[Problem, ...] = ()
    """Failures that left a part out, and values of the profile that cannot be used."""
    verdict: Known | None = None
    """What is known about the task: sure, weak, near or nothing. Null without a task."""


class WakeContext(AgentContext, frozen=True, kw_only=True):
    """The context at the start of a session."""

    session: str | None = None
    """The new session; null if the ledger cannot be written."""
    summary: MemoryExcerpt | None = None
    """The narrative summary."""
    unfinished: UnfinishedSession | None = None
    """The previous session, if it was not ended."""
    handoff: MemoryExcerpt | None = None
    """The handoff of the last session."""
    checkpoint: MemoryExcerpt | None = None
    """The last checkpoint after that handoff."""
    commitments: tuple[MemoryExcerpt, ...] = ()
    """Open commitments, the earliest due first."""
    projects: tuple[MemoryExcerpt, ...] = ()
    """Active projects: those in the profile first, then the most recently changed."""
    preferences: tuple[MemoryExcerpt, ...] = ()
    """Standing preferences and rules, most important first."""


class ContextBundle(AgentContext, frozen=True, kw_only=True):
    """A briefing for a task."""

    summary: MemoryExcerpt | None = None
    """The narrative summary, if there is no task. With a task it is among the episodes, if it
    answers."""
