"""Choices: one thing over another, as messages say it, the same way most of the time. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from djinn_memory.memories.patterns.detection.chance import binomial_tail
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, FEWEST_WEEKS, History
from djinn_memory.memories.patterns.detection.words import stem_of

LEAST_SHARE = 0.6
"""The least share of the days on which the choice was the same."""

_THING = r"(?P<{}>[^\W\d_][\w'’-]*(?:\s+[^\W\d_][\w'’-]*)?)"
_OVER = re.compile(
    rf"\b{_THING.format('chosen')},?\s+(?:over|instead\s+of|rather\s+than|and\s+not|not|no)\s+"
    rf"(?:(?:the|a|an|some|my)\s+)?{_THING.format('other')}",
    re.IGNORECASE,
)
_EITHER = re.compile(
    rf"\b{_THING.format('first')}\s+or\s+(?:(?:the|a|an)\s+)?{_THING.format('second')}\s*\?"
    rf"\W*(?P<answer>[^\n.!?]+)",
    re.IGNORECASE,
)


class ConsistentChoice(Struct, frozen=True):
    """One thing that is mostly chosen over another."""

    chosen: str
    other: str
    episodes: tuple[int, ...]
    """The numbers of the episodes in which it was chosen."""
    days: int
    """The number of days with such an episode."""
    against: int
    """The number of days on which the other one was chosen."""
    log_probability: float
    q: float
    """The probability times the number of pairs, at most 1."""


def find_choices(history: History, significance: float) -> list[ConsistentChoice]:
    """The consistent choices of a history, the most significant first.

    Chance is a choice of either thing with the same probability each day.
    """
    made: dict[tuple[str, str], list[int]] = {}
    spoken: dict[str, Counter[str]] = {}
    for number, occasion in enumerate(history.occasions):
        for chosen, other in dict.fromkeys(choices_in(occasion.text)):
            stems = stem_of(chosen), stem_of(other)
            made.setdefault(stems, []).append(number)
            for stem, word in zip(stems, (chosen, other), strict=True):
                spoken.setdefault(stem, Counter())[word.casefold()] += 1
    pairs = {tuple(sorted(pair)) for pair in made}
    limit = math.log(significance / max(1, len(pairs)))
    consistent = []
    for (chosen, other), episodes in sorted(made.items()):
        days = {int(history.days[number]) for number in episodes}
        against = {int(history.days[number]) for number in made.get((other, chosen), ())}
        weeks = {(day + history.first_day - 1) // 7 for day in days}
        total = len(days) + len(against)
        logarithm = binomial_tail(len(days), total, 0.5)
        if (
            len(days) >= FEWEST_DAYS and len(weeks) >= FEWEST_WEEKS
            and len(days) >= LEAST_SHARE * total and logarithm <= limit
        ):  # fmt: skip
            words = [spoken[stem].most_common(1)[0][0] for stem in (chosen, other)]
            q = min(1.0, math.exp(min(0.0, logarithm + math.log(len(pairs)))))
            consistent.append(
                ConsistentChoice(
                    words[0], words[1], tuple(episodes), len(days), len(against), logarithm, q
                )
            )
    return sorted(consistent, key=lambda choice: (choice.log_probability, choice.chosen))


def choices_in(text: str) -> Iterator[tuple[str, str]]:
    """The choices that a message states, as the chosen word and the other one."""
    for match in _OVER.finditer(text):
        chosen, other = _last(match["chosen"]), _first(match["other"])
        if chosen and other and stem_of(chosen) != stem_of(other):
            yield chosen, other
    for match in _EITHER.finditer(text):
        first, second = _last(match["first"]), _first(match["second"])
        answer = {stem_of(word) for word in re.findall(r"[\w'’-]+", match["answer"])}
        both = [(first, second), (second, first)]
        named = [pair for pair in both if all(pair) and stem_of(pair[0]) in answer]
        if len(named) == 1:
            yield named[0]


def _last(words: str) -> str:
    """The last word that names a thing."""
    named = [word for word in words.split() if stem_of(word)]
    return named[-1] if named and stem_of(words.split()[-1]) else ""


def _first(words: str) -> str:
    named = [word for word in words.split() if stem_of(word)]
    return named[0] if named else ""
