"""Requests and answers about the context of a session, and the narrative summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from djinn_memory.memories.recall.requests import MOST_BUDGET, Session
from djinn_memory.models import MemoryRef, Problem
from djinn_memory.search.narrowing import AgentName

MIN_BUDGET = 100
"""Minimum tokens of a context: a smaller one holds no memory."""

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
    budget: Annotated[
        int,
        Meta(
            ge=MIN_BUDGET, le=MOST_BUDGET, description="The maximum number of tokens of the answer."
        ),
    ] = 2000
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


class MemoryExcerpt(MemoryRef, frozen=True, kw_only=True):
    """An excerpt of a memory that fits into the budget."""

    type: str | None
    """The type, such as `commitment`."""
    plane: str | None
    """The plane of the type; null for a plain note."""
    title: str
    """The title of the memory."""
    written: str
    """The time when it was written, else its date."""
    due: str | None = None
    """The due date of a commitment, if it has one."""
    overdue: bool = False
    """Whether the due date has passed."""
    holds: str | None = None
    """The period in words, such as `until 3 May 2026`; null without a period."""
    text: str
    """The text below the front matter."""
    cut: bool = False
    """Whether the text was cut."""
    rank: int | None = None
    """Its rank in the recall for the task, as `rate` accepts it."""


class UnfinishedSession(Struct, frozen=True):
    """A session that was not ended."""

    session: str
    """The name of the session."""
    since: str
    """The time of the last event in the session, as ISO 8601 in UTC."""
    checkpoint: MemoryExcerpt | None
    """The last checkpoint of the session."""


class WakeContext(Struct, frozen=True):
    """The context at the start of a session."""

    agent: str = ""
    """The agent whose session begins."""
    session: str | None = None
    """The new session; null if the ledger cannot be written."""
    summary: MemoryExcerpt | None = None
    """The narrative summary."""
    profile: MemoryExcerpt | None = None
    """The note that describes the agent."""
    unfinished: UnfinishedSession | None = None
    """The previous session, if it was not ended."""
    handoff: MemoryExcerpt | None = None
    """The handoff of the last session."""
    checkpoint: MemoryExcerpt | None = None
    """The last checkpoint after that handoff."""
    commitments: tuple[MemoryExcerpt, ...] = ()
    """Open commitments, the earliest due first."""
    projects: tuple[MemoryExcerpt, ...] = ()
    """Active projects, most recently changed first."""
    preferences: tuple[MemoryExcerpt, ...] = ()
    """Standing preferences and rules, most important first."""
    conversation: tuple[MemoryExcerpt, ...] = ()
    """The last turns of the previous session, oldest first."""
    previous_session: str | None = None
    """The session of these turns; null if there are none."""
    episodes: tuple[MemoryExcerpt, ...] = ()
    """Episodes that the task recalls, or the newest without a task. The next three fields are
    similar."""
    patterns: tuple[MemoryExcerpt, ...] = ()
    """Lessons and decisions."""
    entities: tuple[MemoryExcerpt, ...] = ()
    """People and things."""
    documents: tuple[MemoryExcerpt, ...] = ()
    """Documents."""
    suggestions: tuple[str, ...] = ()
    """Suggestions for the first actions, a sentence each."""
    built_at: str = ""
    """The time when this was compiled, as ISO 8601 in UTC."""
    query_used: str | None = None
    """The query of the recall: the task."""
    confident: bool | None = None
    """False when nothing is known about the task and nothing is recalled. Null without a task."""
    request_id: str | None = None
    """The id of the recall, as `rate` accepts it; null if there was none."""
    tokens: int = 0
    """The length of this context as Markdown, in tokens of the packaged model."""
    left_out: int = 0
    """The number of memories that did not fit the budget."""
    problems: list[Problem] = field(default_factory=list)
    """Failures that left a part out."""


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
