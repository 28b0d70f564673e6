"""Requests and answers about sessions: their marks, their turns, the extraction, the summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from djinn_memory.memories.episodes.requests import Episode
from djinn_memory.memories.recall.requests import Session
from djinn_memory.models import Memory, MemoryRef, Problem
from djinn_memory.operations.checks import RawName
from djinn_memory.search.narrowing import AgentName, KeepSecret, SinceDay, UntilDay

_Points = Annotated[Sequence[str], Meta(max_length=100)]

SummaryAuthor = Literal["hand", "djinn", "model"]


class Checkpoint(Struct, frozen=True):
    """Save the state of the work, each time as a separate note.

    If the session is interrupted, the next `wake` begins with its last checkpoint.
    """

    text: Annotated[str, Meta(min_length=1, description="The state of the work, in Markdown.")]
    focus: Annotated[str | None, Meta(description="The current focus of the work.")] = None
    decisions: Annotated[_Points, Meta(description="Decisions since the last checkpoint.")] = ()
    session: Session = None
    allow_secret: KeepSecret = False
    agent: AgentName = None


class Handoff(Struct, frozen=True):
    """End the session with a handoff note, with which the next `wake` begins."""

    summary: Annotated[
        str, Meta(min_length=1, description="What was done and the state of the work, in Markdown.")
    ]
    next: Annotated[_Points, Meta(description="The next steps, in order.")] = ()
    blocked: Annotated[_Points, Meta(description="Blocked tasks, and what blocks them.")] = ()
    session: Session = None
    allow_secret: KeepSecret = False
    agent: AgentName = None


class ShowSummary(Struct, frozen=True):
    """Show the narrative summary, with which `wake` begins."""

    agent: AgentName = None


class SetSummary(Struct, frozen=True):
    """Write the summary. The previous version is kept beside it."""

    text: Annotated[str, Meta(description="The whole summary, in Markdown.")]
    agent: AgentName = None
    allow_secret: KeepSecret = False


class BuildSummary(Struct, frozen=True):
    """Build the summary: three to eight sentences from what is known.

    They are about facts, preferences, active projects, decisions, open commitments and the last
    conversation. The model in the setting `llm.model` writes it. Without that setting no model is
    used.
    """

    force: Annotated[
        bool, Meta(description="Replace the summary even if it was written by hand.")
    ] = False  # fmt: skip
    agent: AgentName = None


class NarrativeSummary(MemoryRef, frozen=True, kw_only=True):
    """The current summary."""

    text: str
    """The text of the summary."""
    by: SummaryAuthor
    """The author: a person or an agent, `djinn agent summary build`, or a chat model."""


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


class StartSession(Struct, frozen=True):
    """Start a session without reading its context."""

    session: Annotated[
        RawName | None, Meta(description="The name of the session. Default: a new name.")
    ] = None
    agent: AgentName = None


class EndSession(Struct, frozen=True):
    """End a session without a handoff."""

    session: Session = None
    agent: AgentName = None


class ListSessions(Struct, frozen=True):
    """List the sessions of an agent, newest first.

    A session is listed if it has turns or is open. Imports and hooks name their sessions by
    themselves.
    """

    channel: Annotated[
        RawName | None,
        Meta(
            description="Only sessions with turns of this channel: cli, api, slack, voice, or that "
            "of an import, such as chatgpt."
        ),
    ] = None
    since: SinceDay = None
    until: UntilDay = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The maximum number of sessions.")] = 20
    skip: Annotated[
        int, Meta(ge=0, le=10_000_000, description="How many of the newest sessions to skip.")
    ] = 0
    agent: AgentName = None


class ShowHistory(Struct, frozen=True):
    """Show the last turns of a session, oldest first, with their whole texts."""

    session: Annotated[
        RawName | None,
        Meta(
            description="The session or chat. Default: the current session, or all sessions if "
            "it has no turns."
        ),
    ] = None
    last: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None,
        Meta(description="The maximum number of turns. Default: the setting `sessions.history`."),
    ] = None
    agent: AgentName = None


class ExtractSessions(Struct, frozen=True):
    """Turn statements in sessions into facts, preferences, decisions, commitments and lessons.

    Sessions that are idle for `sessions.idle_minutes` are read, each turn once. Statements that are
    known, or were extracted before, are skipped.
    """

    session: Annotated[
        RawName | None,
        Meta(
            description="Read all turns of this session now. Default: the new turns of idle "
            "sessions."
        ),
    ] = None
    dry_run: Annotated[bool, Meta(description="Only list what would be written.")] = False
    agent: AgentName = None


class StartedSession(Struct, frozen=True):
    """A session that was started."""

    session: str
    """The name of the session."""
    agent: str
    """The agent whose session it is."""


class EndedSession(Struct, frozen=True):
    """A session that was ended."""

    session: str
    """The name of the session."""
    agent: str
    """The agent whose session it was."""


class SessionExtraction(Struct, frozen=True):
    """The last extraction from a session, and what all of them found."""

    at: str
    """The time of the last one, as ISO 8601 in UTC."""
    memories: int
    """The number of memories that were written, proposed ones too."""
    known: int
    """The number of statements that were known already."""


class ListedSession(Struct, frozen=True):
    """A session, as a list shows it."""

    session: str
    """The name of the session."""
    agent: str
    """The agent whose session it is."""
    turns: int
    """The number of its turns."""
    first: str
    """The time of its first turn, as ISO 8601 in UTC. Without turns, the time of its last event."""
    last: str
    """The time of its last turn. Without turns, the time of its last event."""
    channel: str | None
    """The channel of its last turn, such as `cli`; null without turns."""
    client: str | None
    """The program that its last turn came from, such as `claude`; null if djinn recorded it."""
    open: bool
    """Whether it was started by `wake` or `session start` and not ended."""
    extracted: SessionExtraction | None = None
    """The extraction from it; null before the first."""


class SessionPage(Struct, frozen=True):
    """A page of a list of sessions."""

    sessions: tuple[ListedSession, ...]
    """The sessions, newest first."""
    total: int
    """The number of sessions on all pages."""


class SessionTurn(Episode, frozen=True, kw_only=True):
    """A turn of a session: a message with its response, an observation or an outcome."""

    message: str
    """The message, or what was observed, with its secrets masked."""
    response: str | None
    """The response of the agent; null if there is none."""
    context: dict[str, Any] | None
    """Other data that was recorded with it, such as the call of a tool."""
    client: str | None
    """The program that it came from, such as `claude`."""
    derived: tuple[Memory, ...] = ()
    """The memories that name it as their evidence, such as those that were extracted from it."""


class SessionHistory(Struct, frozen=True):
    """The last turns of a session."""

    session: str | None
    """The session; null for the turns of all sessions."""
    turns: tuple[SessionTurn, ...]
    """The turns, oldest first."""
    total: int
    """The number of turns in the session, or in all sessions."""
    near: tuple[str, ...] = ()
    """Sessions with similar names, if the session has no turns."""
    extracted: SessionExtraction | None = None
    """The extraction from the session; null before the first, and for all sessions."""
    open: bool = False
    """Whether the session was started by `wake` or `session start` and not ended."""
    notes: tuple[Memory, ...] = ()
    """The handoff and the checkpoints of the session, newest first."""


class ExtractedMemory(MemoryRef, frozen=True, kw_only=True):
    """A memory that was extracted. In a dry run it has no id and no path."""

    type: str
    """The type: fact, preference, decision, commitment or lesson."""
    title: str
    """The title of the memory."""
    text: str
    """The statement; the value of a fact."""
    status: str | None
    """`proposed` for a memory that does not count until someone accepts it; else null."""
    rule: str
    """The rule that found the statement, such as `extract.preference`."""
    evidence: tuple[str, ...]
    """Links to the turns that it came from."""
    session: str
    """The session of these turns."""


class SkippedStatement(Struct, frozen=True):
    """A statement that was not written."""

    type: str
    """The type that the memory would have."""
    title: str
    """The title that the memory would have."""
    text: str
    """The statement."""
    reason: str
    """Why it was skipped."""
    evidence: tuple[str, ...]
    """Links to the turns that it came from."""
    session: str
    """The session of these turns."""


class ExtractionReport(Struct, frozen=True):
    """The result of an extraction."""

    written: tuple[ExtractedMemory, ...]
    """The memories that were written, or would be in a dry run."""
    skipped: tuple[SkippedStatement, ...]
    """Statements that were not written."""
    sessions: int
    """The number of sessions that were read."""
    dry_run: bool
    """Whether nothing was changed."""
    near: tuple[str, ...] = ()
    """Sessions with similar names, if the session in the request has no turns."""
    problems: tuple[Problem, ...] = ()
    """Failures that left sessions or proposals out."""
