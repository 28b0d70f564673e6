"""Requests about the marks of a session, and about the narrative summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from djinn_memory.memories.recall.requests import Session
from djinn_memory.models import MemoryRef, Problem
from djinn_memory.search.narrowing import AgentName

_Points = Annotated[Sequence[str], Meta(max_length=100)]
_AllowSecret = Annotated[bool, Meta(description="Keep text that looks like a key or a password.")]

SummaryAuthor = Literal["hand", "djinn", "model"]


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
