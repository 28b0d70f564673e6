"""Proposes notes to compare: those that are near each other in meaning.

It uses the vectors of the index; nothing is embedded for this. The rules decide whether their
statements contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

MOST_NOTES = 5_000
"""Notes whose vectors are compared, the newest first. Comparing them takes a few seconds."""

NEAREST = 5
"""Number of nearest notes with which a note is compared."""

LEAST = 0.5
"""The minimum cosine of two notes. Contradictory notes in other words have .6 or more, with the
packaged model and different titles."""

BLOCK = 500
"""Notes that are compared with all others at once."""


def near_notes(index: Index, memories: Sequence[IndexedMemory]) -> Iterator[tuple[int, int]]:
    """Pairs of positions in `memories` of notes whose beginnings are near each other in meaning.

    There are none without vectors, as long as no note is embedded.
    """
    chunks: dict[int | None, int] = {
        memory.first_chunk: at
        for at, memory in enumerate(memories[:MOST_NOTES])
        if memory.first_chunk is not None
    }
    embedded = vectors_of(index, chunks)
    if len(embedded) < 2:
        return
    import numpy as np

    places = [chunks[chunk] for chunk in embedded]
    vectors = np.stack([*embedded.values()])
    nearest = min(NEAREST, len(places) - 1)
    pairs: set[tuple[int, int]] = set()
    for start in range(0, len(places), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors.T
        for row, columns in enumerate(np.argpartition(-cosines, nearest, axis=1)[:, : nearest + 1]):
            for column in columns.tolist():
                if column != start + row and cosines[row, column] >= LEAST:
                    first, second = sorted((places[start + row], places[column]))
                    pairs.add((first, second))
    yield from sorted(pairs)


def vectors_of(index: Index, chunks: Iterable[int | None]) -> Mapping[int | None, Vectors]:
    """The vector of each chunk that has one."""
    import numpy as np

    space = index.vectors.space
    if space is None:
        return {}
    # Any vector does: what is wanted are the vectors of the chunks.
    probe = np.zeros(space.dimensions, dtype="<f4")
    measured = index.vectors.measure(probe, [chunk for chunk in chunks if chunk is not None])
    return {key: near.vector for key, near in measured.items()}
