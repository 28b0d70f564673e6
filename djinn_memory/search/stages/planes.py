"""Planes: chooses the candidates of each plane that are read and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from djinn_memory.models import Memory
from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.planes import plane_for
from djinn_memory.search.stages.repeats import ShownTexts

_OF_TEXTS = frozenset({"tokens", "rerank"})
"""The verdicts of stages that read the text."""

Judge = Callable[[Search, Sequence[Candidate], int | None], bool]
"""Whether any candidate, of so many memories, is likely to answer."""


class PlaneCounts:
    """Counts the hits of each plane, up to the limits of a search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._limits = search.limits.planes
        self._taken: Counter[str] = Counter()
        self._texts = ShownTexts()

    def admit(self, candidate: Candidate, memory: Memory) -> bool:
        """Whether a candidate matches well enough, and its plane has room."""
        if not self._limits:
            return True
        plane = plane_for(memory)
        least = self._limits.document_match if plane == "documents" else self._limits.match
        return self._taken[plane] < self._limits.hits and _matches(self._search, candidate, least)

    def repeats(self, memory: Memory, text: str) -> bool:
        """Whether a candidate nearly repeats a hit of its plane, and would take another's place."""
        if not self._limits:
            return False
        return self._texts.repeats(plane_for(memory), f"{memory.title} {text}")

    def count(self, memory: Memory, text: str) -> None:
        """Count a hit."""
        self._taken[plane_for(memory)] += 1
        if self._limits:
            self._texts.add(plane_for(memory), f"{memory.title} {text}")


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


def known_planes(search: Search, chosen: Sequence[Candidate], judge: Judge) -> list[Candidate]:
    """The chosen candidates without the planes in which nothing is likely to answer.

    What is near by chance is nearer in a large plane, so each is judged by its own size.
    """
    memories = search.lookup(candidate.memory_id for candidate in chosen)
    groups: dict[str, list[Candidate]] = {}
    for candidate in chosen:
        groups.setdefault(plane_for(memories[candidate.memory_id]), []).append(candidate)
    kept = [
        candidate.chunk_id
        for plane, group in groups.items()
        if judge(search, group, search.plane_sizes.get(plane))
        for candidate in group
    ]
    return [candidate for candidate in chosen if candidate.chunk_id in kept]


def _matches(search: Search, candidate: Candidate, least: float) -> bool:
    """Whether a candidate matches by meaning or by words.

    Candidates that were asked for by their name or time need not match, nor those that were added
    for another reason. Without a model every candidate matches.
    """
    asked_for = candidate.verdicts.keys() - _OF_TEXTS
    if "meaning" not in search.weights or not candidate.scores or asked_for:
        return True
    # Imported here: few searches have limits for planes.
    from djinn_memory.embedding.calibration import relevance

    near = relevance(candidate.value("meaning"))
    return max(near, candidate.value("words")) >= least
