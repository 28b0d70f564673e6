"""Gather: the legs begin, propose candidates in two rounds, and score them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from djinn_memory.models import Filters
from djinn_memory.search import fusion
from djinn_memory.search.candidate import NOTHING, Candidate, Scored
from djinn_memory.search.legs import leg_classes
from djinn_memory.search.legs.words_query import CUT, content, overlong, phrase
from djinn_memory.search.stages.planes import missing_planes
from djinn_memory.search.state import Leg, PlaneLimits, Search
from djinn_memory.search.suggest import unknown_values
from djinn_memory.store.index.records import ChunkRef, Selection, WordMatch

PLANE_DEPTH = 50
"""Number of candidates from each leg for a plane of which the other candidates have too few."""

AT_FRONT = 20
"""Number of best candidates that decide whether a phrase in a question becomes a filter."""

NEWEST = 1000
"""Maximum number of memories listed by filters alone."""

T = TypeVar("T")
_Proposals = Mapping[str, Sequence[ChunkRef]]
"""The chunks that legs propose, best first, by the name of the leg."""


def begin(search: Search) -> None:
    """Start the legs of the mode, so that a model loads while the index is refreshed."""
    if search.query.asks:
        wanted = (leg for leg in leg_classes() if leg.marks_words or _in_mode(leg, search))
        search.legs = {leg.name: leg(search) for leg in wanted}


def _in_mode(leg: type[Leg] | Leg, search: Search) -> bool:
    return search.mode in (leg.name, *leg.modes)


def settle(search: Search) -> None:
    """Decide which legs answer, and prepare them. If no leg of the mode is ready, others answer."""
    question, vocabulary = search.query, search.index.words
    ready = [leg for leg in search.legs.values() if leg.ready(search)]
    asked = [leg for leg in ready if _in_mode(leg, search)] or ready
    if question.asks and search.mode != "graph" and not any(leg.scores_all for leg in ready):
        search.mode = "words"
    texts = (*question.for_words, *question.words, *question.phrases, *question.without)
    if search.mode != "meaning" and overlong(vocabulary, texts):
        search.problems.append(CUT)
    search.selection = replace(
        search.selection,
        phrases=tuple(filter(None, (phrase(vocabulary, text) for text in question.phrases))),
        without=tuple(filter(None, (phrase(vocabulary, text) for text in question.without))),
    )
    if question.asks:
        search.asked_words = content(vocabulary, question.text)
        search.weights = fusion.shares(
            {leg.name: leg.weight if leg in asked else 0.0 for leg in ready}
        )
        for leg in ready:
            leg.prepare(search)
    search.problems += unknown_values(search.index, search.selection.filters)


def propose(search: Search) -> None:
    """Gather the candidates under the filters of the search."""
    search.candidates = gather(search, search.selection.filters)


def gather(search: Search, filters: Filters) -> list[Candidate]:
    """All candidates under `filters`, best first. Filters alone return the newest memories.

    A phrase inside a question becomes a filter if at least half of the `AT_FRONT` best contain
    it, because people also quote phrases that occur in no memory.
    """
    selection = replace(search.selection, filters=filters)
    phrases = WordMatch(selection.phrases, every=True)
    if not phrases.terms or search.query.only_phrases:
        return _gather(search, selection)
    candidates = _gather(search, replace(selection, phrases=()))
    chunks = [candidate.chunk_id for candidate in candidates]
    holding = search.index.words.score(phrases, chunks)
    front = [candidate.chunk_id in holding for candidate in candidates[:AT_FRONT]]
    if sum(front) < len(front) / 2:
        return candidates
    return [candidate for candidate in candidates if candidate.chunk_id in holding]


def _gather(search: Search, selection: Selection) -> list[Candidate]:
    if not search.query.asks:
        return [
            Candidate(memory.first_chunk, memory.memory_id, 1.0)
            for memory in search.index.memories(selection, limit=NEWEST)
            if memory.first_chunk is not None
        ]
    proposals = _proposals(search, selection)
    if search.limits.planes:
        proposals = _with_planes(search, search.limits.planes, selection, proposals)
    first = {
        name: 0.0 if search.legs[name].second_round else weight
        for name, weight in search.weights.items()
    }
    seeds = _fuse(search, proposals, fusion.shares(first))
    if search.expand == "prf":
        from djinn_memory.search.stages.expand import add_words_of_best

        add_words_of_best(search, seeds)
    more = _proposals(search, selection, seeds)
    if not more:
        return seeds
    own = {name: seeds[0].scores[name] if seeds else {} for name in more}
    candidates = _fuse(search, _joined(proposals, more), search.weights)
    # The second round makes no answer a confident one.
    for candidate in candidates:
        candidate.own_scores = {**candidate.scores, **own}
    return candidates


def _proposals(
    search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
) -> _Proposals:
    """The proposals of the legs that have some, in the first round or, with seeds, the second."""
    asked = {leg.name: leg.propose(search, selection, seeds) for leg in search.asked}
    return _answers({name: answer for name, answer in asked.items() if answer})


def _joined(proposals: _Proposals, more: _Proposals) -> _Proposals:
    names = {**proposals, **more}
    return {name: [*proposals.get(name, ()), *more.get(name, ())] for name in names}


def _with_planes(
    search: Search, limits: PlaneLimits, selection: Selection, proposals: _Proposals
) -> _Proposals:
    """The proposals, and more from planes with too few of them."""
    keys = {ref.memory_id for refs in proposals.values() for ref in refs}
    memories = search.lookup(keys)
    depth, search.depth = search.depth, PLANE_DEPTH
    proposed = [memories[key] for key in keys]
    for plane, narrower, size in missing_planes(search.index, limits, selection, proposed):
        search.plane_sizes[plane] = size
        proposals = _joined(proposals, _proposals(search, narrower))
    search.depth = depth
    return proposals


def _fuse(search: Search, proposals: _Proposals, weights: Mapping[str, float]) -> list[Candidate]:
    """Merge the proposals of all legs. Every leg scores each chunk."""
    listed = {ref for refs in proposals.values() for ref in refs}
    # Chunks with equal scores keep this order.
    ordered = sorted(listed, key=lambda ref: ref.place)
    memory_of = {ref.chunk_id: ref.memory_id for ref in ordered}
    chunks = list(memory_of)
    own = {
        leg.name: list(dict.fromkeys(ref.chunk_id for ref in proposals.get(leg.name, ())))
        for leg in search.asked
    }
    scores: dict[str, Mapping[int, Scored]] = {name: {} for name in search.weights}
    scores |= _answers({leg.name: leg.score(search, chunks, own[leg.name]) for leg in search.asked})
    values = {
        name: {chunk: mark.value for chunk, mark in scored.items()}
        for name, scored in scores.items()
    }
    fused = fusion.fuse(chunks, values, weights)
    final: Mapping[int, float] = fused
    shown = chunks
    # Scores end at 1; the measure of the only leg distinguishes chunks above it.
    order = scores[search.asked[0].name]
    if len(search.asked) > 1:
        order = {}
        # The scores of one leg alone, when no other finds anything, are too low to be adjusted.
        effective = [leg for leg in search.asked if any(values[leg.name].values())]
        for leg in effective if len(effective) > 1 else ():
            final = leg.adjust(final, memory_of, scores[leg.name])
        # A chunk is shown, however low its score, if a leg found it that does not find all.
        telling = [values[leg.name] for leg in search.answering if not leg.scores_all]
        shown = [
            chunk
            for chunk in chunks
            if final[chunk] >= fusion.NOISE or any(worth.get(chunk) for worth in telling)
        ]
    best = sorted(shown, key=lambda chunk: (-final[chunk], order.get(chunk, NOTHING).rank or 0))
    return [
        Candidate(
            chunk, memory_of[chunk], final[chunk], scores, scores, final[chunk] - fused[chunk]
        )
        for chunk in best
    ]


def _answers(asked: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """The answers of legs that have been asked, by name."""
    return {name: answer() for name, answer in asked.items()}
