"""Searches for callers that have a state and filters rather than a runtime and a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.models import Expand, Filters, Mode, SearchResult
from djinn_memory.runtime import Runtime
from djinn_memory.search import options
from djinn_memory.search.narrowing import fields
from djinn_memory.search.search import Rescorer, search
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry


class SearchOptions(Struct, frozen=True):
    """How to search where it is otherwise than the settings say; None is as they say."""

    mode: Mode | None = None
    limit: int | None = None
    rerank: bool | None = None
    expand: Expand | None = None
    excerpt: int | None = None
    expired: bool = False


def ask(
    state: State,
    models: ModelRegistry,
    text: str,
    filters: Filters,
    agent: str,
    how: SearchOptions,
    rescorer: Rescorer | None = None,
) -> SearchResult:
    """See `search.search`."""
    runtime = Runtime(state.home)
    runtime.state, runtime.models, runtime.problems = state, models, state.problems
    request = options.SearchOptions(
        text,
        how.limit,
        how.expired,
        how.mode,
        how.rerank,
        how.expand,
        agent=agent,
        **fields(filters),
    )
    return search(runtime, request, rescorer=rescorer, excerpt=how.excerpt)
