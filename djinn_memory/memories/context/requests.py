"""The request for the context of a task, and its answer."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.sessions.requests import AgentContext, ContextBudget
from djinn_memory.search.narrowing import AgentName, DomainNames


class BuildContext(Struct, frozen=True):
    """Collect what memory knows about a task: episodes, patterns, entities and documents.

    One search ranks all of them. Suggestions name due commitments, gaps and patterns that apply.
    """

    task: Annotated[
        Annotated[str, Meta(max_length=20_000)] | None,
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
    agent: AgentName = None


class ContextBundle(AgentContext, frozen=True, kw_only=True):
    """What memory knows about a task."""

    summary: MemoryExcerpt | None = None
    """The narrative summary, if there is no task. With a task it is among the episodes, if it
    answers."""
