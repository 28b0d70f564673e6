"""Runs a search: parse, refresh, legs, fuse, tokens, dates, rerank, names, rescore, cut, present.

Each stage works on one `Search` object, which contains the query, the selection, the candidates,
the steps and the problems.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.home.settings import CHAT_MODEL
from djinn_memory.languages.calendar_names import has_words_of_time
from djinn_memory.models import Filters, Hit, Mode, SearchResult
from djinn_memory.notes.dates import moment
from djinn_memory.search import fusion, hits, query
from djinn_memory.search.candidates import Candidate, HitLimits, Search
from djinn_memory.search.dates.former import FORMER, FormerValues, gather_former
from djinn_memory.search.legs import LEGS
from djinn_memory.search.legs.meaning import MeaningLeg
from djinn_memory.search.legs.words_query import CUT, content, overlong, phrase
from djinn_memory.search.source import source_of
from djinn_memory.search.stages.names import NAME, put_named_first
from djinn_memory.search.stages.periods import holds, prefer_current
from djinn_memory.search.stages.planes import PlaneCounts, known_planes
from djinn_memory.search.stages.relations import put_answers_first
from djinn_memory.search.stages.stand_ins import near_stub, shown_chunk
from djinn_memory.search.suggest import near_spellings, unknown_values
from djinn_memory.store.index.records import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from djinn_memory.runtime import Runtime
    from djinn_memory.search.dates.period import QuestionPeriod
    from djinn_memory.search.options import SearchOptions
    from djinn_memory.search.planes import PlaneLimits
    from djinn_memory.search.reranker import Reranker

_LEGS: dict[Mode, tuple[str, ...]] = {"words": ("words",), "meaning": ("words", "meaning")}
"""The legs of a mode; `hybrid` has all. A search by meaning also uses words to highlight
snippets."""

BATCH = 50
"""Candidates whose memories are read at once. The first batch is enough for most answers."""


class RescoreStage(Protocol):
    """A stage that changes the scores of candidates, and may drop or add candidates."""

    def rescore(self, search: Search) -> list[Candidate]:
        """The candidates, best first. `search.gather` finds more candidates under other filters."""

    def confident(
        self, search: Search, chosen: Sequence[Candidate], among: int | None = None
    ) -> bool:
        """Whether any of the chosen candidates is likely to answer the request.

        They are the best of `among` memories, by default of all.
        """


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
    began = time.monotonic()
    search = _parse(runtime, options, excerpt, planes)
    pending = _refresh(search, options.agent)
    with search.source.index(search.vaults) as search.index:
        _settle(search)
        asks = search.query.asks
        search.problems += unknown_values(search.index, search.selection.filters)
        search.candidates = search.gather(search.selection.filters)
        period = _asked_period(search)
        search.windows = period.windows if period else ()
        if period:
            search.time_words = content(search.index.words, period.words)
        former = None if period else _former_values(search)
        search.asks_for_former = former is not None
        _interact(search)
        if period:
            period.put_first(search)
        elif former:
            former.put_first(search)
        _rerank(search)
        if not former:
            prefer_current(search)
        put_named_first(search)
        if rescorer:
            search.candidates = rescorer.rescore(search)
        if period:
            period.put_first(search)
        elif former:
            former.put_first(search)
        chosen = _cut(search, search.limits.hits)
        if search.answered:
            chosen = put_answers_first(search, chosen)
        judge = rescorer.confident if rescorer else confident
        if period:
            chosen = period.in_sequence(search, chosen)
        if planes and not (period and period.everything):
            chosen = known_planes(search, chosen, judge)
        shown = _present(search, chosen)
        search.steps += search.source.steps()
        if period and period.everything:
            sure = period.answered(chosen)
        else:
            sure = not asks or judge(search, chosen)
        # When results are rescored, any hit counts as a match, however weak.
        suggests = asks and not (shown and (sure or rescorer))
        question = " ".join(search.query.for_words)
        return SearchResult(
            query=options.query,
            mode=search.mode,
            hits=shown,
            confident=bool(shown) and sure,
            suggestions=near_spellings(search.index, question) if suggests else (),
            problems=(*runtime.problems, *search.problems),
            pending=pending,
            unembedded=sum(leg.waiting(search) for leg in search.legs.values()),
            milliseconds=(time.monotonic() - began) * 1000,
            steps=tuple(search.steps),
            periods=period.shown() if period else (),
        )


def _asked_period(search: Search) -> QuestionPeriod | None:
    """The period that the question asks about; see `gather_dated`."""
    dates = search.runtime.home.config.search.dates
    if not (dates and search.query.asks and has_words_of_time(search.query.text)):
        return None
    # Imported here: it compiles patterns for tens of milliseconds, and few questions need them.
    from djinn_memory.search.dates.period import gather_dated

    return gather_dated(search)


def _former_values(search: Search) -> FormerValues | None:
    """What the question asks for that no longer holds; see `gather_former`."""
    dates = search.runtime.home.config.search.dates
    return gather_former(search) if dates and search.query.asks else None


def _parse(
    runtime: Runtime, options: SearchOptions, excerpt: int | None, planes: PlaneLimits | None
) -> Search:
    """Parse the query, the filters and the mode, and start the legs."""
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
        options.mode or settings.mode,
        HitLimits(
            options.limit or settings.limit,
            settings.per_note,
            settings.per_document,
            settings.excerpt if excerpt is None else excerpt,
            planes,
        ),
        reranker=_reranker(runtime, options.rerank) if question.asks else None,
    )
    search.named = replace(search.selection, filters=given, name=query.readable(options.query))
    if question.asks:
        search.expand = options.expand or settings.expand
        if search.expand == "llm":
            _expand(search)
        names = _LEGS.get(search.mode)
        search.legs = {leg.name: leg(search) for leg in LEGS if names is None or leg.name in names}
    return search


def _reranker(runtime: Runtime, wanted: bool | None) -> Reranker | None:
    config = runtime.home.config
    if wanted is False or not (wanted or config.search.rerank):
        return None
    if config.search.rerank == CHAT_MODEL:
        from djinn_memory.search.stages.rerank_by_chat import ChatReranker

        return ChatReranker(config.llm)
    encoder = runtime.models.reranker
    if encoder is None:
        raise UsageError("search.rerank names no model; set it to a cross-encoder or to llm")
    from djinn_memory.search.stages.rerank_by_encoder import EncoderReranker

    return EncoderReranker(encoder, config.search.rerank_ms)


def _expand(search: Search) -> None:
    from djinn_memory.search.stages.expand import by_model

    search.query, step, problem = by_model(search.query, search.runtime.home.config.llm)
    search.steps.append(step)
    search.problems += [problem] if problem else []


def _refresh(search: Search, agent: str | None) -> int:
    """Index recent changes, within limits; returns how many files are still waiting."""
    refresh = search.source.refresh(agent, search.vaults)
    meaning = search.legs.get("meaning")
    spare = meaning.question.spare if isinstance(meaning, MeaningLeg) else None
    pending, problems = refresh(spare)
    search.problems += problems
    return pending


def _settle(search: Search) -> None:
    """Decide which legs answer, and prepare them."""
    question, vocabulary = search.query, search.index.words
    ready = {name: leg for name, leg in search.legs.items() if leg.ready(search)}
    if question.asks and "meaning" not in ready:
        search.mode = "words"
    texts = (*question.for_words, *question.words, *question.phrases, *question.without)
    if search.mode != "meaning" and overlong(vocabulary, texts):
        search.problems.append(CUT)
    search.selection = replace(
        search.selection,
        phrases=tuple(filter(None, (phrase(vocabulary, text) for text in question.phrases))),
        without=tuple(filter(None, (phrase(vocabulary, text) for text in question.without))),
    )
    if not question.asks:
        return
    search.asked_words = content(vocabulary, question.text)
    names = _LEGS.get(search.mode, ready)
    weights = {name: ready[name].weight for name in names if name in ready}
    if search.mode == "meaning":
        weights["words"] = 0.0
    search.weights = fusion.shares(weights)
    for name in weights:
        ready[name].prepare(search)


def _interact(search: Search) -> None:
    meaning = search.legs.get("meaning")
    if "meaning" in search.weights and isinstance(meaning, MeaningLeg):
        from djinn_memory.search.stages.late_interaction import interact

        assert meaning.question.embedder is not None
        interact(search, meaning.question.embedder)


def _rerank(search: Search) -> None:
    if search.reranker is None:
        return
    from djinn_memory.search.stages.rerank import rerank

    search.candidates = _cut(search, search.wanted)
    rerank(search, search.reranker)


def _cut(search: Search, most: int) -> list[Candidate]:
    """The candidates to show: from notes that still exist, with a limit per note."""
    vaults = {vault.name: vault for vault in search.index.vaults}
    limits = search.limits
    present: dict[int, bool] = {}
    shown: set[int] = set()
    stubs: list[Candidate] = []
    chosen: list[Candidate] = []
    taken: Counter[int] = Counter()
    planes = PlaneCounts(search)
    for start in range(0, len(search.candidates), BATCH):
        batch = search.candidates[start : start + BATCH]
        memories = search.lookup([candidate.memory_id for candidate in batch])
        search.load(candidate.chunk_id for candidate in batch[:most])
        for candidate in batch:
            key = candidate.memory_id
            memory = memories[key]
            most_of_it = limits.per_document if memory.plane == "documents" else limits.per_note
            if taken[key] >= most_of_it or not planes.admit(candidate, memory):
                continue
            if key not in present:
                vault = vaults[memory.vault]
                exists = search.source.exists(vault, memory.path)
                present[key] = exists and holds(search, memory, vault)
            if not present[key] or (taken[key] and key in search.values):
                continue
            chunk = shown_chunk(search, candidate)
            if near_stub(search, candidate, chunk, memory):
                stubs.append(candidate)
            elif chunk not in shown and not planes.repeats(memory, search.chunk(chunk).text):
                taken[key] += 1
                planes.count(memory, search.chunk(chunk).text)
                shown.add(chunk)
                stand_in = None if chunk == candidate.chunk_id else chunk
                chosen.append(replace(candidate, stand_in=stand_in) if stand_in else candidate)
                if len(chosen) == most:
                    return chosen
    return chosen or stubs[:most]


def _present(search: Search, chosen: Sequence[Candidate]) -> tuple[Hit, ...]:
    """The candidates as hits for the user."""
    vaults = {vault.name: vault for vault in search.index.vaults}
    memories = search.lookup([candidate.memory_id for candidate in chosen])
    matches = hits.matcher(search.index.words, search.stems)
    now = search.as_of or moment(search.runtime.now())
    shown = []
    for rank, candidate in enumerate(chosen, 1):
        chunk = search.chunk(candidate.stand_in or candidate.chunk_id)
        memory = memories[candidate.memory_id]
        vault, characters = vaults[memory.vault], search.limits.excerpt
        hit = hits.hit(
            candidate, rank, chunk, memory, vault, matches, characters, search.weights, now
        )
        if then := search.values.get(candidate.memory_id):
            hit = hits.with_value(hit, then, matches, characters)
        shown.append(hit)
    return tuple(shown)


def has_certain(search: Search, chosen: Sequence[Candidate]) -> bool:
    """Whether any of the chosen candidates matches with certainty, whatever its score."""
    names = {NAME, FORMER}
    return any(
        each.chunk_id in search.certain
        or each.memory_id in search.answered
        or not names.isdisjoint(each.verdicts)
        for each in chosen
    )


def confident(search: Search, chosen: Sequence[Candidate], among: int | None = None) -> bool:
    """Whether the shown candidates are likely to answer. A deleted note does not count."""
    cosines = [candidate.value("meaning") for candidate in chosen]
    by_scores = fusion.confident(
        (candidate.value("words") for candidate in chosen),
        cosines if "meaning" in search.weights else None,
    )
    # What is certain must be looked up.
    return by_scores or has_certain(search, chosen)
