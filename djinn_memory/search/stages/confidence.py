"""Confidence: whether the chosen candidates are likely to answer."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.search import fusion
from djinn_memory.search.candidate import FORMER, NAME, Candidate
from djinn_memory.search.state import Leg, Search


def answers(search: Search) -> bool:
    """Whether the chosen candidates of a search are likely to answer. Filters alone always do."""
    by_time = search.time.judged(search.chosen)
    if by_time is not None:
        return by_time
    return not search.query.asks or confident(search, search.chosen)


def confident(search: Search, chosen: Sequence[Candidate], among: int | None = None) -> bool:
    """Whether any of these candidates, the best of `among` memories, is likely to answer.

    A deleted note does not count. A rescorer judges by its own scores.
    """
    if search.rescorer:
        return search.rescorer.confident(search, chosen, among)
    return likely(search, chosen)


def likely(search: Search, chosen: Sequence[Candidate]) -> bool:
    """Whether any of these candidates is likely to answer, by the scores of the legs."""
    # Certain matches must be looked up, so they come last.
    return enough(search.asked, chosen) or has_certain(search, chosen)


def enough(legs: Sequence[Leg], chosen: Sequence[Candidate]) -> bool:
    """Whether the best values of these legs, by the weight of their evidence, are an answer's."""
    evidence = [(leg.evidence, [each.value(leg.name) for each in chosen]) for leg in legs]
    return fusion.confident(evidence, max(legs, key=lambda leg: leg.evidence).enough)


def has_certain(search: Search, chosen: Sequence[Candidate]) -> bool:
    """Whether any of these candidates matches with certainty, whatever its score."""
    names = {NAME.name, FORMER}
    return any(
        each.chunk_id in search.certain
        or each.memory_id in search.time.answered
        or not names.isdisjoint(each.verdicts)
        for each in chosen
    )
