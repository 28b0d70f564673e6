"""Runs a search: a tuple of stages over one `Search`."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.models import Filters, SearchResult
from djinn_memory.search import query, time
from djinn_memory.search.hits import present
from djinn_memory.search.source import source_of
from djinn_memory.search.stages import cut, gather, judge, names, neighbours, planes, tokens
from djinn_memory.search.state import HitLimits, Leg, Search
from djinn_memory.search.suggest import near_spellings
from djinn_memory.store.index.records import Selection

if TYPE_CHECKING:
    from djinn_memory.runtime import Runtime
    from djinn_memory.search.query import SearchOptions
    from djinn_memory.search.state import PlaneLimits, Reranker, RescoreStage

Stage = Callable[[Search], None]
"""A stage changes the search: its query, its candidates, its hits, its steps and problems."""


def search(
    runtime: Runtime,
    options: SearchOptions,
    *,
    rescorer: RescoreStage | None = None,
    excerpt: int | None = None,
    planes: PlaneLimits | None = None,
) -> SearchResult:
    """Find memories that answer `options.query` in the vaults that the agent sees.

    `rescorer` changes the scores, for example by how useful memories were. `excerpt` overrides the
    excerpt length in the settings. With `planes`, the best hits of each plane are shown. They share
    one ranking.
    """
    began = clock.monotonic()
    search = _parse(runtime, options, rescorer, excerpt, planes)
    question = None
    if runtime.state.change_watch and not (rescorer or planes) and excerpt is None:
        # Imported here: a process that answers one question has no earlier answers.
        from djinn_memory.search.answers import Question

        question = Question(search, options)
        if known := question.known():
            return replace(known, milliseconds=(clock.monotonic() - began) * 1000)
    for stage in BEFORE:
        stage(search)
    with search.source.index(search.vaults) as search.index:
        for stage in STAGES:
            stage(search)
        answer = _result(search, options.query, began)
        if question:
            question.keep(answer)
        return answer


def _expand(search: Search) -> None:
    """Let a chat model add to the question."""
    if search.expand == "llm" and search.query.asks:
        from djinn_memory.search.stages.expand import expand

        expand(search)


def _refresh(search: Search) -> None:
    """Index recent changes, within limits."""
    spare = next((leg.spare for leg in search.legs.values() if _is_quick(leg)), None)
    search.pending, problems = search.source.refresh(search.agent, search.vaults, spare)
    search.problems += problems


def _is_quick(leg: Leg) -> bool:
    """Whether a leg has a model on this machine, which can embed a few more windows."""
    return leg.embedder is not None and leg.embedder.local


def _rerank(search: Search) -> None:
    """Let a model read the best candidates."""
    if search.reranker:
        from djinn_memory.search.stages.rerank import rerank

        search.candidates = cut.cut(search, search.wanted)
        rerank(search, search.reranker)


def _rescore(search: Search) -> None:
    """Weigh uses, ratings and the notes' own words, in a recall."""
    if search.rescorer:
        search.candidates = search.rescorer.rescore(search)


BEFORE: tuple[Stage, ...] = (_expand, time.read, gather.begin, _refresh)
"""The stages before the index is opened."""

STAGES: tuple[Stage, ...] = (
    gather.settle,
    gather.propose,
    time.ask,
    tokens.interact,
    neighbours.raise_neighbours,
    time.put_first,
    _rerank,
    time.prefer_current,
    names.put_named_first,
    _rescore,
    time.put_first,
    judge.judge,
    cut.choose,
    planes.leave_out_unknown,
    present,
)
"""The stages over the index, which expects no change meanwhile."""


def _parse(
    runtime: Runtime,
    options: SearchOptions,
    rescorer: RescoreStage | None,
    excerpt: int | None,
    planes: PlaneLimits | None,
) -> Search:
    """The query, the filters and the mode."""
    if options.hops and options.mode not in (None, "graph"):
        raise UsageError("links are only followed in the mode graph", argument="hops")
    settings, now = runtime.home.config.search, runtime.now()
    question, given = query.parse(options.query), options.filters(now)
    agent = runtime.home.agent(options.agent)
    runtime.home.check_domains(given.domains, agent)
    filters = question.narrow(given)
    if not (question.asks or question.without) and replace(filters, vaults=()) == Filters():
        raise UsageError("the query is empty; give a question or keywords")
    source = source_of(runtime, options.backend)
    search = Search(
        runtime,
        source,
        question,
        Selection(filters, None if options.expired else now),
        source.vaults(agent, filters.vaults),
        options.mode or ("graph" if options.hops else settings.mode),
        HitLimits(
            options.limit or settings.limit,
            settings.per_note,
            settings.per_document,
            settings.excerpt if excerpt is None else excerpt,
            planes,
        ),
        agent=options.agent,
        hops=options.hops or query.HOPS,
        expand=options.expand or settings.expand,
        reranker=_reranker(runtime, options.rerank) if question.asks else None,
        rescorer=rescorer,
    )
    search.named = replace(search.selection, filters=given, name=query.readable(options.query))
    return search


def _reranker(runtime: Runtime, wanted: bool | None) -> Reranker | None:
    if wanted is False or not (wanted or runtime.home.config.search.rerank):
        return None
    from djinn_memory.search.stages.rerank import reranker_of

    return reranker_of(runtime)


def _result(search: Search, asked: str, began: float) -> SearchResult:
    """The answer. `asked` is the query as given."""
    search.steps += search.source.steps()
    verdict = search.verdict if search.hits else "nothing"
    suggests = search.query.asks and verdict != "sure"
    question = " ".join(search.query.for_words)
    return SearchResult(
        query=asked,
        mode=search.mode,
        hits=search.hits,
        confident=verdict == "sure",
        suggestions=near_spellings(search.index, question) if suggests else (),
        problems=(*search.runtime.problems, *search.problems),
        pending=search.pending,
        unembedded=sum(leg.waiting(search) for leg in search.legs.values()),
        milliseconds=(clock.monotonic() - began) * 1000,
        steps=tuple(search.steps),
        periods=search.time.shown(),
        verdict=verdict,
    )
