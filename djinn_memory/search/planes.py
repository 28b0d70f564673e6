"""Planes: lets each plane answer a search, so that a large plane does not crowd out a small one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import PLANES, Filters, Memory
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Selection

ENOUGH = 3
"""A plane is asked by itself if the search of all planes proposes fewer than this many times the
wanted hits from it. The order of the legs differs from the final order."""

_PLAIN = "semantic"


class PlaneLimits(Struct, frozen=True):
    """Limits for the hits of each plane. A match is the relevance of `embedding.calibration`,
    or the share of the question's words, whichever is higher.
    """

    hits: int
    """The maximum number of hits of each plane."""
    match: float
    """The minimum match of a memory, by meaning or by words."""
    document_match: float
    """The minimum match of a passage of a document."""


def plane_for(memory: Memory) -> str:
    """The plane that a memory counts for. A plain note stands with what was learned."""
    return memory.plane or _PLAIN


def missing_planes(
    index: Index, limits: PlaneLimits, selection: Selection, proposed: Iterable[Memory]
) -> Iterator[tuple[str, Selection, int]]:
    """The planes that have too few of the proposed memories, with their sizes in memories."""
    counts = Counter(map(plane_for, proposed))
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
