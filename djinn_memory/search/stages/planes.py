"""Planes: chooses the candidates of each plane that are read and shown."""

from __future__ import annotations

from collections import Counter

from djinn_memory.models import Memory
from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.planes import plane_for
from djinn_memory.search.stages.names import NAME


class PlaneCounts:
    """Counts the hits of each plane, up to the limits of a search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._limits = search.limits.planes
        self._taken: Counter[str] = Counter()

    def admit(self, candidate: Candidate, memory: Memory) -> bool:
        """Whether a candidate matches well enough, and its plane has room."""
        if not self._limits:
            return True
        plane = plane_for(memory)
        least = self._limits.document_match if plane == "documents" else self._limits.match
        return self._taken[plane] < self._limits.hits and _matches(self._search, candidate, least)

    def count(self, memory: Memory) -> None:
        """Count a hit."""
        self._taken[plane_for(memory)] += 1


def front(search: Search, count: int) -> list[Candidate]:
    """The best candidates; if the search must show all planes, the best of the planes in turn.

    They keep their order.
    """
    if not search.limits.planes:
        return search.candidates[:count]
    memories = search.lookup(candidate.memory_id for candidate in search.candidates)
    ranks: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for at, candidate in enumerate(search.candidates):
        plane = plane_for(memories[candidate.memory_id])
        ranks[plane] += 1
        turns.append((ranks[plane], at))
    return [search.candidates[at] for at in sorted(at for _, at in sorted(turns)[:count])]


def _matches(search: Search, candidate: Candidate, least: float) -> bool:
    """Whether a candidate matches by meaning or by words.

    Candidates that were added for another reason, such as their date, need not match. Without a
    model every candidate matches.
    """
    if "meaning" not in search.weights or not candidate.scores or NAME in candidate.verdicts:
        return True
    # Imported here: few searches have limits for planes.
    from djinn_memory.embedding.calibration import relevance

    near = relevance(candidate.value("meaning"))
    return max(near, candidate.value("words")) >= least
