"""Asks a home: what the question says, what helps to answer it, and the answer."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.indexing.refresh import sweep
from djinn_memory.models import Expand, Filters, Mode, Problem, SearchResult, SearchStep
from djinn_memory.search.filters import valid
from djinn_memory.search.legs.meaning import QuestionVector
from djinn_memory.search.legs.words import MAX_TERMS, overlong
from djinn_memory.search.pipeline import Widen
from djinn_memory.search.query import Query, parse
from djinn_memory.search.search import HitLimits, Reorder, Weigh, search
from djinn_memory.store.index import memories, vectors
from djinn_memory.store.sqlite import snapshot
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.home.settings import SearchConfig

_NO_MODEL = Problem("embedding", "embedding.provider is none, so only words were searched")
_OVERTAKEN = Problem(
    "embedding", "another model took over just now, so only words were searched; search again"
)
_CUT = Problem("query", f"only the first {MAX_TERMS} words of it, or of a phrase, are looked for")


class SearchOptions(Struct, frozen=True):
    """How to search where it is otherwise than the settings say; None is as they say."""

    mode: Mode | None = None
    limit: int | None = None
    rerank: bool | None = None
    expand: Expand | None = None
    excerpt: int | None = None
    expired: bool = False
    """Whether what has expired may answer too."""


class _Done(Struct):
    """What was done beside the two legs, and what went wrong."""

    steps: list[SearchStep] = []
    problems: list[Problem] = []


def ask(
    state: State,
    models: ModelRegistry,
    text: str,
    filters: Filters,
    agent: str,
    how: SearchOptions,
    weigh: Weigh | None = None,
) -> SearchResult:
    """Find what answers `text` in the vaults that `agent` sees; see `Djinn.search`.

    `weigh` gives what was found another worth, see `memories.weighing`.
    """
    began = time.monotonic()
    settings = state.home.config.search
    query, filters = _question(text, filters)
    vaults = state.home.scope(agent, filters.vaults)
    done = _Done()
    reorder = _reorder(state, models, how.rerank, done)
    expand = (how.expand or settings.expand) if query.asks else "none"
    if expand == "llm":
        query = _expanded(state, query, done)
    mode = how.mode or settings.mode
    meaning = _meaning(state, models, query, done) if query.asks and mode != "words" else None
    pending, problems = sweep(state, vaults, meaning.spare if meaning else None)
    vector = meaning.vector(problems) if meaning else None
    if mode == "meaning" and not models.embedder:
        problems.append(_NO_MODEL)
    if vector is None and query.asks:
        mode = "words"
    if mode != "meaning" and overlong(
        state.index, (*query.for_words, *query.words, *query.phrases, *query.without)
    ):
        problems.append(_CUT)
    with snapshot(state.index):
        if not how.expired:
            filters = valid(state.index, filters, datetime.now(UTC))
        if meaning and vector is not None and meaning.outdated(vectors.serving(state.index)):
            problems.append(_OVERTAKEN)
            mode, vector = "words", None
        hits, confident, spellings = search(
            state.index,
            query,
            filters,
            vaults,
            mode=mode,
            vector=vector,
            limits=_limits(settings, how),
            reorder=reorder,
            widen=_widen(mode, done) if expand == "prf" else None,
            weigh=weigh,
        )
        searched = memories.vault_ids(state.index, vaults)
        waiting = vectors.pending(state.index, searched) if meaning else 0
    return SearchResult(
        query=text,
        mode=mode,
        hits=hits,
        confident=confident,
        suggestions=spellings,
        problems=(*state.problems, *problems, *done.problems),
        pending=pending,
        unembedded=waiting,
        milliseconds=(time.monotonic() - began) * 1000,
        steps=tuple(done.steps),
    )


def _limits(settings: SearchConfig, how: SearchOptions) -> HitLimits:
    limit = how.limit or settings.limit
    excerpt = settings.excerpt if how.excerpt is None else how.excerpt
    return HitLimits(limit, settings.per_note, settings.per_document, excerpt)


def _question(text: str, filters: Filters) -> tuple[Query, Filters]:
    query = parse(text)
    filters = query.narrow(filters)
    if not query.asks and replace(filters, vaults=()) == Filters() and not query.without:
        raise UsageError("nothing to search for; give a question, or words")
    return query, filters


def _meaning(
    state: State, models: ModelRegistry, query: Query, done: _Done
) -> QuestionVector | None:
    """The meaning leg, begun; None when only words can be searched.

    A wrong setting is raised all the same.
    """
    if models.embedder is None:
        return None
    space = vectors.serving(state.index)
    empty = not state.index.execute("select exists (select 1 from window)").get
    try:
        embedder = models.answering(*((space.recipe, space.identity) if space else (None, None)))
        if embedder is None:
            return None
        resident = state.change_watch is not None
        return QuestionVector(embedder, space, query, empty=empty, resident=resident)
    except DjinnError as error:
        done.problems.append(Problem("embedding", f"{error}; only words were searched"))
        return None


def _expanded(state: State, query: Query, done: _Done) -> Query:
    from djinn_memory.search.stages.expand import by_model

    query, step, problem = by_model(query, state.home.config.llm)
    done.steps.append(step)
    done.problems += [problem] if problem else []
    return query


def _widen(mode: Mode, done: _Done) -> Widen | None:
    from djinn_memory.search.stages.prf import widening

    return widening(mode, done.steps)


def _reorder(
    state: State, models: ModelRegistry, wanted: bool | None, done: _Done
) -> Reorder | None:
    if wanted and not models.reranker:
        raise UsageError("search.rerank names no cross-encoder; set it to a name or a folder")
    if wanted is False or not models.reranker:
        return None
    from djinn_memory.search.stages.rerank import reordering

    milliseconds = state.home.config.search.rerank_ms
    return reordering(models.reranker, milliseconds, done.steps, done.problems)
