"""How legs become one score. Pure.

The score is what hits are ranked by and what is shown: it has the same meaning for every query and
vault, because no leg is scaled by what the other hits of the list happen to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

FEEDBACK = 0.15
"""The weight of similarity to the best three memories, which say more than a short query."""

FEEDBACK_MEMORIES = 3

NOISE = 0.05
"""A chunk with no word of the query and less than this is not worth showing: any two texts have a
cosine of 0.1."""

CONFIDENT = 0.42
"""Below this, `max cosine + max words / 4` is noise: on three collections
it keeps 99 % of the questions that they answer and 2 % of those on what they do not hold."""

CONFIDENT_WORDS = 0.3
"""The same for words alone, which tell the two kinds of question apart less well."""


KNOWN, KNOWN_GROWTH = 0.35, 0.015
"""Below `KNOWN + KNOWN_GROWTH * ln(chunks)`, `max cosine + max coverage / 5` is noise: the best of
more chunks is better by chance. On four vaults it keeps 99 % of 760 tasks that notes answer, and
3 % of 280 that have nothing to do with them; with `CONFIDENT`, those were 98.5 % and 4 %."""


def shares(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of the legs, normalised to shares of the score."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def fuse(
    chunks: Iterable[int], values: Mapping[str, Mapping[int, float]], shares: Mapping[str, float]
) -> dict[int, float]:
    """The scores of chunks by what each leg makes of them; a leg may know only some."""
    scores = dict.fromkeys(chunks, 0.0)
    for name, share in shares.items():
        for chunk, value in values[name].items():
            scores[chunk] += share * value
    return scores


def best_memories(scores: Mapping[int, float], memory_of: Mapping[int, int]) -> list[int]:
    """The best chunk of each of the FEEDBACK_MEMORIES best memories; equals keep their order."""
    chosen: dict[int, int] = {}
    for chunk in sorted(scores, key=lambda key: -scores[key]):
        chosen.setdefault(memory_of[chunk], chunk)
        if len(chosen) == FEEDBACK_MEMORIES:
            break
    return list(chosen.values())


def with_feedback(
    scores: Mapping[int, float], likeness: Mapping[int, float], best: Sequence[int]
) -> dict[int, float]:
    """Add to each score its similarity to the best memories, relative to their own similarity.

    A chunk without a vector yet keeps its score.
    """
    known = [likeness[chunk] for chunk in best if chunk in likeness]
    if not known:
        return dict(scores)
    level = sum(known) / len(known)
    return {
        chunk: score + FEEDBACK * (likeness.get(chunk, level) - level)
        for chunk, score in scores.items()
    }


def confident(words: Iterable[float], cosines: Iterable[float] | None) -> bool:
    """Whether any hit is likely to be what was requested; `cosines` is None for words alone."""
    if cosines is None:
        return max(words, default=0.0) >= CONFIDENT_WORDS
    return max(cosines, default=0.0) + max(words, default=0.0) / 4 >= CONFIDENT


def known(cosines: Iterable[float], coverage: Iterable[float], chunks: int) -> bool:
    """Whether memories of so many `chunks` are likely to help with a question.

    `coverage` is the share of the question's words, by rarity, that each hit holds.
    """
    best = max(cosines, default=0.0) + max(coverage, default=0.0) / 5
    return best >= KNOWN + KNOWN_GROWTH * math.log(max(1, chunks))


def shown(score: float) -> float:
    """The score that users see, from 0 to 1."""
    return round(min(1.0, max(0.0, score)), 4)
