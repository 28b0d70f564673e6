"""The request for the context of a task, and its answer."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.memories.recall.requests import MOST_BUDGET
from djinn_memory.memories.sessions.requests import MIN_BUDGET, MemoryExcerpt
from djinn_memory.models import Problem
from djinn_memory.search.narrowing import AgentName


class BuildContext(Struct, frozen=True):
    """Collect what memory knows about a task: episodes, patterns, entities and documents.

    One search ranks all of them. Suggestions name due commitments, gaps and patterns that apply.
    """

    task: Annotated[
        Annotated[str, Meta(max_length=20_000)] | None,
        Meta(description="The task or a message. Default: the newest memories of each type."),
    ] = None
    budget: Annotated[
        int,
        Meta(
            ge=MIN_BUDGET, le=MOST_BUDGET, description="The maximum number of tokens of the answer."
        ),
    ] = 4000
    limit_per_type: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | None,
        Meta(
            description="The maximum number of episodes, patterns, entities and documents, each. "
            "Default: the setting `context.limit`."
        ),
    ] = None
    agent: AgentName = None


class ContextMemory(MemoryExcerpt, frozen=True, kw_only=True):
    """A memory in a context, with the passage that answers."""

    lines: tuple[int, int] | None = None
    """The first and the last line of the passage in its file; null without a task."""
    page_number: int | None = None
    """The page of the passage in its document, if it has pages."""
    score: float = 0.0
    """The score of the recall. All parts of a context have one scale."""


class ContextBundle(Struct, frozen=True):
    """What memory knows about a task."""

    agent: str = ""
    """The agent whose memory was used."""
    profile: ContextMemory | None = None
    """The note that describes the agent."""
    conversation: tuple[ContextMemory, ...] = ()
    """The last turns of the previous session, oldest first, if `context.turns` is set."""
    previous_session: str | None = None
    """The session of these turns; null if there are none."""
    episodes: tuple[ContextMemory, ...] = ()
    """Episodes: what was said and what happened, best first. Without a task, the newest first. The
    next three fields are similar."""
    patterns: tuple[ContextMemory, ...] = ()
    """What was learned: patterns, lessons, decisions and plain notes."""
    entities: tuple[ContextMemory, ...] = ()
    """People, places, projects, concepts and facts."""
    documents: tuple[ContextMemory, ...] = ()
    """Passages of documents, with at most `search.excerpt` characters each."""
    suggestions: tuple[str, ...] = ()
    """Due commitments, open gaps, patterns that apply now, and next steps, a sentence each."""
    built_at: str = ""
    """The time when this was compiled, as ISO 8601 in UTC."""
    query_used: str | None = None
    """The query of the recall: the task. Null without a task."""
    confident: bool | None = None
    """False when nothing is known about the task. Null without a task."""
    request_id: str | None = None
    """The id of the recall, as `rate` accepts it; null if there was none."""
    tokens: int = 0
    """The length of this context as Markdown, in tokens of the packaged model."""
    left_out: int = 0
    """The number of memories that did not fit the budget."""
    problems: tuple[Problem, ...] = ()
    """Failures that left a part out."""
