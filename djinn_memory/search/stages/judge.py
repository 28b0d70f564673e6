"""Judge: whether the best candidates answer a question, may answer it, are near, or tell nothing.

Every command that says what is known asks here. Uses, ratings and the order of time change which
candidates come first, and not what they tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, islice

from djinn_memory.models import FLOOR, NEAR, Known
from djinn_memory.search.candidate import FORMER, NAME, Candidate, once
from djinn_memory.search.state import Search
from djinn_memory.search.stubs import is_stub

KNOWN, KNOWN_GROWTH = 0.35, 0.015
"""Below `KNOWN + KNOWN_GROWTH * ln(chunks)`, `max cosine + max coverage / 5` is noise. The limit
grows because the best of more chunks is better by chance. On four vaults it keeps 99 % of 760 tasks
that notes answer, and 3 % of 280 unrelated tasks. On three conversations it keeps 98 % of 193
questions, and none of 180 about other things."""

WORDS = 0.3
"""The minimum match by words alone, for a search without a model and for chunks without vectors."""

JUDGED = 8
"""Number of best memories that are judged. More are better by chance."""

READ = 50
"""Number of best memories among which these are chosen. A vault may have dozens of stubs."""


def judge(search: Search) -> None:
    """Set the verdict of a search."""
    search.verdict = _verdict(search)


def _verdict(search: Search) -> Known:
    by_time = search.time.judged(search.candidates) if search.query.asks else True
    added = search.rescorer is not None and search.rescorer.asks_for_newest
    front = _front(search)
    if by_time or added or (by_time is None and is_likely(search, front)):
        return "sure"
    best = max((candidate.fused for candidate in front), default=0.0)
    if best >= FLOOR:
        return "weak"
    return "near" if best >= NEAR else "nothing"


def _front(search: Search) -> list[Candidate]:
    """The best memories by their scores, and those that come first, each with its best candidate.

    They are on the disk, held at the time that is asked about, and say something.
    """
    matching = [each for each in search.candidates if each.scores or each.verdicts]
    best = once(sorted(matching, key=lambda candidate: -candidate.fused))[:READ]
    first = once(matching[:JUDGED])
    search.load(candidate.chunk_id for candidate in (*best[: 2 * JUDGED], *first))
    memories = search.memories_of((*best, *first))

    def counts(candidate: Candidate) -> bool:
        memory = memories[candidate.memory_id]
        vault = search.vault_of[memory.vault]
        return (
            search.source.exists(vault, memory.path)
            and search.time.held(search, memory, vault)
            and not is_stub(search, candidate)
        )

    return once([*islice(filter(counts, best), JUDGED), *filter(counts, first)])


def is_likely(search: Search, front: Sequence[Candidate], among: int | None = None) -> bool:
    """Whether any of these candidates, the best of `among` chunks, is likely to answer."""
    words = [leg for leg in search.answering if not leg.scores_all]
    # Memories that wait for their vectors can only be judged by words.
    unread = [each for each in front if not search.scores_all or each.vector is None]
    if any(leg.match(each) >= WORDS for leg in words for each in unread):
        return True
    if search.scores_all:
        chunks = [candidate.chunk_id for candidate in front]
        coverage = chain(*(leg.coverage(search, chunks).values() for leg in words))
        cosines = (
            each.value(leg.name) for leg in search.answering if leg.scores_all for each in front
        )
        best = max(cosines, default=0.0) + max(coverage, default=0.0) / 5
        limit = KNOWN + KNOWN_GROWTH * math.log(max(1, among or search.index.words.total))
        if best >= limit:
            return True
    # Certain matches must be looked up, so they come last.
    return any(
        each.chunk_id in search.certain
        or each.memory_id in search.time.answered
        or not _CERTAIN.isdisjoint(each.verdicts)
        for each in front
    )


_CERTAIN = frozenset({NAME.name, FORMER})
"""Marks of candidates that match, whatever their scores."""
