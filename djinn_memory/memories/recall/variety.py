"""Variety: lowers the weight of memories that nearly repeat a better one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from djinn_memory.notes.slugs import fold
from djinn_memory.search.candidate import Candidate
from djinn_memory.search.state import Search

COMPARED = 50
"""Number of best memories that are compared with each other: several times the usual result."""

ALIKE = 0.85
"""Minimum cosine of two memories that say nearly the same, on the scale of the packaged model."""

SAME_WORDS = 0.6
"""Minimum share of common words (Jaccard) of such memories, when no model is available."""

_WORD = re.compile(r"\w+")


def repeats(search: Search, candidates: Sequence[Candidate]) -> list[int]:
    """For each candidate, how many earlier ones say nearly the same. One candidate per memory."""
    compared = candidates[:COMPARED]
    by_meaning = search.scores_all
    alike = _alike_in_meaning(search, compared) if by_meaning else _alike_in_words(search, compared)
    counts = [sum(row[:at]) for at, row in enumerate(alike)]
    return counts + [0] * (len(candidates) - len(compared))


def _alike_in_meaning(search: Search, candidates: Sequence[Candidate]) -> list[list[bool]]:
    """Compare the windows that answer.

    A memory without one, added by a link or its age, is unlike all.
    """
    import numpy as np

    space = search.index.vectors.space
    known = {
        at: candidate.vector
        for at, candidate in enumerate(candidates)
        if candidate.vector is not None
    }
    alike = np.zeros((len(candidates), len(candidates)), bool)
    if space and known:
        matrix, line = np.stack(list(known.values())), space.calibration
        alike[np.ix_(list(known), list(known))] = (
            line.scale * (matrix @ matrix.T) + line.shift >= ALIKE
        )
    rows: list[list[bool]] = alike.tolist()
    return rows


def _alike_in_words(search: Search, candidates: Sequence[Candidate]) -> list[list[bool]]:
    """Compare the words of the chunks that answer."""
    chunks = search.index.chunks([candidate.chunk_id for candidate in candidates])
    words = [
        frozenset(_WORD.findall(fold(chunks[candidate.chunk_id].text))) for candidate in candidates
    ]
    return [
        [len(mine & other) >= SAME_WORDS * len(mine | other) for other in words] for mine in words
    ]
