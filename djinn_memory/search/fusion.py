"""Combines the scores of the legs. Pure.

Hits are ranked by this score, and users see it. It has the same meaning for every query and vault,
because no leg is scaled by the other hits in the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

FEEDBACK = 0.15
"""The weight of similarity to the best three memories, which describe more than a short query."""

FEEDBACK_MEMORIES = 3

NOISE = 0.05
"""A chunk without a word of the query and with a lower score is not shown: any two texts have a
cosine of 0.1."""


def shares(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of the legs, normalised to shares of the score."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def fuse(
    chunks: Iterable[int], values: Mapping[str, Mapping[int, float]], shares: Mapping[str, float]
) -> dict[int, float]:
    """The total scores of chunks from the scores by leg. A leg may lack some chunks."""
    scores = dict.fromkeys(chunks, 0.0)
    for name, share in shares.items():
        for chunk, value in values[name].items():
            scores[chunk] += share * value
    return scores


def best_memories(scores: Mapping[int, float], memory_of: Mapping[int, int]) -> list[int]:
    """The best chunk of each of the FEEDBACK_MEMORIES best memories. Ties keep their order."""
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

    A chunk without a vector keeps its score.
    """
    known = [likeness[chunk] for chunk in best if chunk in likeness]
    if not known:
        return dict(scores)
    level = sum(known) / len(known)
    return {
        chunk: score + FEEDBACK * (likeness.get(chunk, level) - level)
        for chunk, score in scores.items()
    }


def shown(score: float) -> float:
    """The score that users see, between 0 and 1."""
    return round(min(1.0, max(0.0, score)), 4)
