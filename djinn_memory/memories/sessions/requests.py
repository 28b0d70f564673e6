"""Requests and answers about the context of a session, and the narrative summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from djinn_memory.memories.catalog.requests import MIN_BUDGET, MOST_BUDGET, MemoryExcerpt
from djinn_memory.memories.profiles.requests import AgentProfile, CalendarEvent
from djinn_memory.memories.recall.requests import Session
from djinn_memory.models import MemoryRef, Problem
from djinn_memory.search.narrowing import AgentName, DomainNames

ContextBudget = Annotated[
    Annotated[int, Meta(ge=MIN_BUDGET, le=MOST_BUDGET)] | None,
    Meta(
        description="The maximum number of tokens of the answer. Default: `default_budget` in the "
        "profile of the agent, else 2000 for `wake` and 4000 for `context`."
    ),
]
"""The token budget of a context."""

_Points = Annotated[Sequence[str], Meta(max_length=100)]
_AllowSecret = Annotated[bool, Meta(description="Keep text that looks like a key or a password.")]

SummaryAuthor = Literal["hand", "djinn", "model"]


class WakeOptions(Struct, frozen=True):
    """Start a session and return its context.

    It has the summary, the profile, the last handoff and checkpoint, open commitments, active
    projects, preferences, the end of the previous conversation, and memories recalled for the task.
    A session that was not ended is reported with its last checkpoint.
    """

    task: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        Meta(description="The task of the session. Memories about it are recalled."),
    ] = None
    budget: ContextBudget = None
    domains: DomainNames = ()
    session: Session = None
    agent: AgentName = None


class Checkpoint(Struct, frozen=True):
    """Save the state of the work, each time as a separate note.

    If the session is interrupted, the next `wake` begins with its last checkpoint.
    """

    text: Annotated[str, Meta(min_length=1, description="The state of the work, in Markdown.")]
    focus: Annotated[str | None, Meta(description="The current focus of the work.")] = None
    decisions: Annotated[_Points, Meta(description="Decisions since the last checkpoint.")] = ()
    session: Session = None
    allow_secret: _AllowSecret = False
    agent: AgentName = None


class Handoff(Struct, frozen=True):
    """End the session with a handoff note, with which the next `wake` begins."""

    summary: Annotated[
        str, Meta(min_length=1, description="What was done and the state of the work, in Markdown.")
    ]
    next: Annotated[_Points, Meta(description="The next steps, in order.")] = ()
    blocked: Annotated[_Points, Meta(description="Blocked tasks, and what blocks them.")] = ()
    session: Session = None
    allow_secret: _AllowSecret = False
    agent: AgentName = None


class ShowSummary(Struct, frozen=True):
    """Show the narrative summary, with which `wake` begins."""

    agent: AgentName = None


class SetSummary(Struct, frozen=True):
    """Write the summary. The previous version is kept beside it."""

    text: Annotated[str, Meta(description="The whole summary, in Markdown.")]
    agent: AgentName = None
    allow_secret: _AllowSecret = False


class BuildSummary(Struct, frozen=True):
    """Build the summary from facts, preferences, active projects and open commitments.

    The model in the setting `llm.model` writes it. Without that setting no model is used.
    """

    force: Annotated[
        bool, Meta(description="Replace the summary even if it was written by hand.")
    ] = False  # fmt: skip
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
    """What memory knows, for an agent that begins something."""

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
    """Episodes: what was said and what happened, best first. Without a task, the newest first. The
    next three fields are similar."""
    patterns: tuple[MemoryExcerpt, ...] = ()
    """What was learned: patterns, lessons, decisions and plain notes."""
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
    """False when nothing is known about the task and nothing is recalled. Null without a task."""
    request_id: str | None = None
    """The id of the recall, as `rate` accepts it; null if there was none."""
    tokens: int = 0
    """The length of this context as Markdown, in tokens of the packaged model."""
    left_out: int = 0
    """The number of memories that did not fit the budget."""
    problems: tuple[Problem, ...] = ()
    """Failures that left a part out, and values of the profile that cannot be used."""


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


class NarrativeSummary(MemoryRef, frozen=True, kw_only=True):
    """The current summary."""

    text: str
    """The text of the summary."""
    by: SummaryAuthor
    """The author: a person or an agent, `djinn summary build`, or a chat model."""


class SummaryChange(Struct, frozen=True):
    """The result of writing a summary."""

    action: Literal["created", "revised", "unchanged"]
    """For `revised`, the previous version is kept."""
    summary: NarrativeSummary
    """The summary after the change."""
    previous: str | None = None
    """The path of the previous version, relative to the folder of the vault."""
    problems: list[Problem] = field(default_factory=list)
    """Other failures, such as a chat model that did not answer."""
