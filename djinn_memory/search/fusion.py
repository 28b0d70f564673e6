"""How two legs become one score. Pure.

The score is what hits are ranked by and what is shown: it has the same meaning for every query and
vault, because neither leg is scaled by what the other hits of the list happen to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

MEANING_SHARE = 0.5
"""Cosine against the words' share; flat between 0.4 and 0.6 on two collections."""

FEEDBACK = 0.15
"""How much likeness to the best three notes counts: they say more than the query's few words."""

FEEDBACK_NOTES = 3

NOISE = 0.05
"""A chunk with no word of the query and less than this is not worth showing: any two texts have a
cosine of 0.1."""

CONFIDENT = 0.42
"""Below this, `max cosine + max words / 4` is noise: on three collections
it keeps 99 % of the questions that they answer and 2 % of those on what they do not hold."""

CONFIDENT_WORDS = 0.3
"""The same for words alone, which tell the two kinds of question apart less well."""


def fuse(words: float, cosine: float) -> float:
    """The score of a chunk by both legs: `words` 0 to 1, `cosine` as it is."""
    return (1 - MEANING_SHARE) * words + MEANING_SHARE * cosine


def best_notes(scores: Mapping[int, float], note_of: Mapping[int, int]) -> list[int]:
    """The best chunk of each of the FEEDBACK_NOTES best notes."""
    chosen: dict[int, int] = {}
    for chunk in sorted(scores, key=lambda key: (-scores[key], key)):
        chosen.setdefault(note_of[chunk], chunk)
        if len(chosen) == FEEDBACK_NOTES:
            break
    return list(chosen.values())


def with_feedback(
    scores: Mapping[int, float], likeness: Mapping[int, float], best: Sequence[int]
) -> dict[int, float]:
    """Add to each score its likeness to the best notes, against how alike those are themselves.

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
    """Whether anything found is likely to be what was asked for; None: only words were asked."""
    if cosines is None:
        return max(words, default=0.0) >= CONFIDENT_WORDS
    return max(cosines, default=0.0) + max(words, default=0.0) / 4 >= CONFIDENT


def shown(score: float) -> float:
    """A score as a user sees it, 0 to 1."""
    return round(min(1.0, max(0.0, score)), 4)
