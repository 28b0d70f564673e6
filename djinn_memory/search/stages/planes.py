"""Planes: lets each plane answer a search, so that a large plane does not crowd out a small one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from djinn_memory.models import PLANES, Filters, Memory
from djinn_memory.notes.slugs import fold
from djinn_memory.search.backend import Index
from djinn_memory.search.candidate import Candidate
from djinn_memory.search.stages.judge import is_likely
from djinn_memory.search.state import PlaneLimits, Search
from djinn_memory.store.index.records import Selection

ENOUGH = 3
"""A plane is asked by itself if the search of all planes proposes fewer than this many times the
wanted hits from it. The order of the legs differs from the final order."""

SAME_WORDS = 0.9
"""Minimum share of common words (Jaccard) of texts that nearly equal each other: nine of ten."""

_PLAIN = "semantic"

_WORD = re.compile(r"\w+")

_Words = tuple[frozenset[str], frozenset[str]]


def _plane_for(memory: Memory) -> str:
    """The plane that a memory counts for. A plain note counts as learned knowledge."""
    return memory.plane or _PLAIN


def missing_planes(
    index: Index, limits: PlaneLimits, selection: Selection, proposed: Iterable[Memory]
) -> Iterator[tuple[str, Selection, int]]:
    """The planes that have too few of the proposed memories, with their sizes in memories."""
    counts = Counter(map(_plane_for, proposed))
    for plane in PLANES:
        if counts[plane] < ENOUGH * limits.hits:
            narrower = replace(selection, filters=_only(selection.filters, plane))
            if size := index.count(narrower):
                yield plane, narrower, size


def _only(filters: Filters, plane: str) -> Filters:
    if plane != _PLAIN:
        return replace(filters, planes=(plane,))
    others = (("plane", other) for other in PLANES if other != plane)
    return replace(filters, excluded=(*filters.excluded, *others))


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
        plane = _plane_for(memory)
        least = self._limits.document_match if plane == "documents" else self._limits.match
        return self._taken[plane] < self._limits.hits and _matches(self._search, candidate, least)

    def repeats(self, memory: Memory, text: str) -> bool:
        """Whether a candidate nearly repeats a hit of its plane, and would take another's place."""
        if not self._limits:
            return False
        return self._texts.repeats(_plane_for(memory), f"{memory.title} {text}")

    def count(self, memory: Memory, text: str) -> None:
        """Count a hit."""
        self._taken[_plane_for(memory)] += 1
        if self._limits:
            self._texts.add(_plane_for(memory), f"{memory.title} {text}")


def front(search: Search, count: int) -> list[Candidate]:
    """The best candidates; if the search must show all planes, the best of the planes in turn.

    They keep their order.
    """
    if not search.limits.planes:
        return search.candidates[:count]
    memories = search.memories_of(search.candidates)
    ranks: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for at, candidate in enumerate(search.candidates):
        plane = _plane_for(memories[candidate.memory_id])
        ranks[plane] += 1
        turns.append((ranks[plane], at))
    return [search.candidates[at] for at in sorted(at for _, at in sorted(turns)[:count])]


def leave_out_unknown(search: Search) -> None:
    """Leave out the chosen candidates of planes that know nothing, if another plane is sure.

    Candidates to which links lead stay. The nearest of many is nearer by chance, so each plane is
    judged by its own size.
    """
    if not search.limits.planes or search.verdict != "sure":
        return
    memories = search.memories_of(search.chosen)
    groups: dict[str, list[Candidate]] = {}
    for candidate in search.chosen:
        groups.setdefault(_plane_for(memories[candidate.memory_id]), []).append(candidate)
    likely = {
        plane
        for plane, group in groups.items()
        if is_likely(search, group, search.plane_sizes.get(plane))
    }
    search.chosen = [
        candidate
        for candidate in search.chosen
        if not likely
        or _plane_for(memories[candidate.memory_id]) in likely
        or _is_led_to(search, candidate)
    ]


def _matches(search: Search, candidate: Candidate, least: float) -> bool:
    """Whether a candidate matches by meaning or by words, or links lead to it.

    Candidates that were asked for by their name or time need not match, nor those that were added
    for another reason. Without a model every candidate matches.
    """
    if not search.scores_all or candidate.asked_for:
        return True
    matched = max(leg.match(candidate) for leg in search.answering)
    return matched >= least or _is_led_to(search, candidate)


def _is_led_to(search: Search, candidate: Candidate) -> bool:
    """Whether links raised a candidate."""
    return any(leg.path(search, candidate) for leg in search.answering)


class ShownTexts:
    """The texts that are shown, by the kind of their memories."""

    def __init__(self) -> None:
        self._shown: dict[str, list[_Words]] = {}

    def repeats(self, kind: str, text: str) -> bool:
        """Whether a text nearly equals one that is shown.

        Case, punctuation and the order of words do not count. Texts with other numbers differ.
        """
        words, numbers = _words(text)
        return any(
            numbers == other_numbers and len(words & other) >= SAME_WORDS * len(words | other)
            for other, other_numbers in self._shown.get(kind, ())
        )

    def add(self, kind: str, text: str) -> None:
        """Note that a text is shown."""
        self._shown.setdefault(kind, []).append(_words(text))


def _words(text: str) -> _Words:
    """The words of a text, and those of them that are numbers."""
    words = frozenset(_WORD.findall(fold(text)))
    numbers = (word for word in words if any(map(str.isdigit, word)))
    return words, frozenset(numbers)
