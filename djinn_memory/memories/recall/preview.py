"""What other parameters of scoring would change: the last queries, ordered by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from djinn_memory.errors import ConfigError, UsageError
from djinn_memory.home.config import validate
from djinn_memory.memories.recall.recall import profile_for
from djinn_memory.memories.recall.records import logged_recalls
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
    moved: int
    """The number of memories with another rank."""


class ScoringPreview(Struct, frozen=True):
    """The order of the last recalls with other parameters of scoring."""

    recalls: Sequence[ReorderedRecall]
    """The last queries of the agent, the newest first."""


def preview(runtime: Runtime, request: PreviewScores) -> ScoringPreview:
    """Order the last queries of an agent again; see `Scores.preview`."""
    scoring = [runtime.home.config.scoring]
    try:
        data = {"scoring": {**asdict(scoring[0]), **request.parameters}}
        scoring.append(validate(data, "parameters").scoring)
    except ConfigError as error:
        raise UsageError(str(error), argument="parameters") from None
    agent, ledger = runtime.home.agent(request.agent), logged_recalls(runtime.state)
    queries = reading.last_queries(ledger, agent, request.limit) if ledger else []
    return ScoringPreview([
        _reordered(query, *(_answers(runtime, agent, query, each) for each in scoring))
        for query in queries
    ])  # fmt: skip


def _answers(runtime: Runtime, agent: str, query: str, scoring: ScoringConfig) -> Sequence[Hit]:
    """The memories that a recall would name. No model reads or expands, which takes seconds."""
    settings = runtime.home.config.recall
    profile = settings.profiles[profile_for(settings.profile, query, settings)]
    fields: dict[str, Any] = {"agent": agent, "limit": settings.limit, "hops": profile.hops or None}
    options = SearchOptions(query, rerank=False, expand="none", **fields)
    return search(runtime, options, rescorer=Rescorer(runtime, profile, agent, query, scoring)).hits


def _reordered(query: str, before: Sequence[Hit], after: Sequence[Hit]) -> ReorderedRecall:
    ranks = [{hit.address: hit.rank for hit in hits} for hits in (before, after)]
    hits = {hit.address: hit for hit in (*after, *before)}
    memories = [
        extended(hit, ReorderedMemory, before=ranks[0].get(name), after=ranks[1].get(name))
        for name, hit in hits.items()
    ]
    moved = sum(memory.before != memory.after for memory in memories)
    return ReorderedRecall(query, memories, moved)
