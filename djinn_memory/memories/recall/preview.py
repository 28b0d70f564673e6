"""What other parameters of scoring would change: the last queries, ordered by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, to_builtins

from djinn_memory.errors import ConfigError, UsageError
from djinn_memory.home.config import validate
from djinn_memory.memories.recall.recall import profile_for
from djinn_memory.memories.recall.requests import PreviewScores
from djinn_memory.memories.recall.rescoring import Rescorer
from djinn_memory.models import Hit, MemoryRef, extended
from djinn_memory.runtime import Runtime
from djinn_memory.scoring import ScoringConfig
from djinn_memory.search.query import SearchOptions
from djinn_memory.search.search import search
from djinn_memory.store.ledger import reading


class ReorderedMemory(MemoryRef, frozen=True, kw_only=True):
    """A memory that answers a query, and its ranks."""

    title: str
    """The title of the memory."""
    before: int | None
    """The rank with the parameters in effect; null if it is not among the memories."""
    after: int | None
    """The rank with the other parameters; null if it is not among the memories."""


class ReorderedRecall(Struct, frozen=True):
    """A query, and the memories that answer it."""

    query: str
    """The query as it was logged."""
    memories: Sequence[ReorderedMemory]
    """The memories in the new order. Those that would go come last."""


class ScoringPreview(Struct, frozen=True):
    """The order of the last recalls with other parameters of scoring."""

    recalls: Sequence[ReorderedRecall]
    """The last queries of the agent, the newest first."""


def preview(runtime: Runtime, request: PreviewScores) -> ScoringPreview:
    """Order the last queries of an agent again; see `Scores.preview`."""
    current = runtime.home.config.scoring
    edited = with_parameters(current, request.parameters)
    agent, ledger = runtime.home.agent(request.agent), runtime.state.ledger_if_any
    queries = reading.last_queries(ledger, agent, request.limit) if ledger else []
    return ScoringPreview([
        ReorderedRecall(
            query,
            _merged(*(_ordered(runtime, agent, query, scoring) for scoring in (current, edited))),
        )
        for query in queries
    ])  # fmt: skip


def with_parameters(current: ScoringConfig, given: Mapping[str, object]) -> ScoringConfig:
    """The parameters with those that are given. Raises `UsageError` if they are invalid."""
    try:
        return validate({"scoring": {**to_builtins(current), **given}}, "parameters").scoring
    except ConfigError as error:
        raise UsageError(str(error), argument="parameters") from None


def _ordered(runtime: Runtime, agent: str, query: str, scoring: ScoringConfig) -> Sequence[Hit]:
    """The memories that a recall would find now. No model reads or expands, which takes seconds."""
    settings = runtime.home.config.recall
    profile = settings.profiles[profile_for(settings.profile, query, settings)]
    options = SearchOptions(
        query,
        limit=settings.limit,
        rerank=False,
        expand="none",
        agent=agent,
        hops=profile.hops or None,
    )
    return search(runtime, options, rescorer=Rescorer(runtime, profile, agent, query, scoring)).hits


def _merged(before: Sequence[Hit], after: Sequence[Hit]) -> list[ReorderedMemory]:
    ranks = [{hit.address: hit.rank for hit in hits} for hits in (before, after)]
    hits = {hit.address: hit for hit in (*after, *before)}
    return [
        extended(hit, ReorderedMemory, before=ranks[0].get(name), after=ranks[1].get(name))
        for name, hit in hits.items()
    ]
