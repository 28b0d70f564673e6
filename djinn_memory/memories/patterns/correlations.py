"""Correlations: things that occur together on more days than the rhythm of activity explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from djinn_memory.languages.days import WEEKDAY_NAMES
from djinn_memory.memories.patterns.detection.chance import (
    SMALLEST,
    binomial_tail,
    false_discovery_rates,
)
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, History
from djinn_memory.memories.patterns.detection.windows import EVERY_DAY, Rhythm, TimeWindow
from djinn_memory.memories.patterns.requests import Correlation, CorrelationList

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import Integers

MOST_ACTIONS = 300
"""The words and pairs of words that are tested, those of most days first."""

HIGHEST_RATE = 0.01
"""The highest rate of false discoveries among the correlations that are listed."""

LEAST_STRENGTH = 0.1
"""The least strength of a correlation that is listed. Weaker ones help nobody."""


class _Test(NamedTuple):
    first: str
    second: str
    days: int
    both: int
    share: float
    probability: float


def find_correlations(history: History) -> CorrelationList:
    """The correlations of a history, the most certain first."""
    if not history.length:
        return CorrelationList((), 0, 0)
    tests = [*_with_times(history), *_with_domains(history)]
    rates = false_discovery_rates([test.probability for test in tests])
    listed = [
        correlation
        for test, rate in zip(tests, rates, strict=True)
        if rate <= HIGHEST_RATE and (correlation := _correlation(test, rate))
    ]
    listed.sort(key=lambda each: (each.q_value, -each.strength, each.first, each.second))
    return CorrelationList(tuple(listed), len(listed), len(tests))


def _correlation(test: _Test, rate: float) -> Correlation | None:
    observed = test.both / test.days
    strength = (observed - test.share) / (1 - test.share) if test.share < 1 else 0.0
    if strength < LEAST_STRENGTH:
        return None
    return Correlation(
        test.first, test.second, round(strength, 3), test.both, round(test.days * test.share, 2),
        float(f"{test.probability:.2e}"), float(f"{max(SMALLEST, rate):.2e}"),
    )  # fmt: skip


def _things(history: History) -> Iterator[tuple[str, Integers]]:
    """The domains, entities and actions that occur on enough days, with their episodes."""
    actions = 0
    for name, episodes in zip(history.names, history.episodes, strict=True):
        kind, _, value = name.rpartition(":")
        if kind:
            yield f"{kind}: {value}", episodes
        elif actions < MOST_ACTIONS:
            actions += 1
            yield f"action: {name}", episodes
    named: dict[str, list[int]] = {}
    for number, occasion in enumerate(history.occasions):
        for entity in dict.fromkeys(occasion.entities):
            named.setdefault(entity, []).append(number)
    for entity in sorted(named):
        episodes = np.array(named[entity], dtype=np.int64)
        if len(np.unique(history.days[episodes])) >= FEWEST_DAYS:
            yield f"entity: {entity}", episodes


def _with_times(history: History) -> Iterator[_Test]:
    """Things with hours and with weekdays."""
    rhythm = Rhythm(history)
    windows: Sequence[tuple[str, TimeWindow]] = (
        *((f"hour: {hour:02}", TimeWindow(EVERY_DAY, hour, 1)) for hour in range(24)),
        *(
            (f"weekday: {WEEKDAY_NAMES[day].lower()}", TimeWindow((day,)))
            for day in EVERY_DAY
        ),
    )  # fmt: skip
    for name, episodes in _things(history):
        counts = rhythm.count(episodes)
        for label, window in windows:
            position = rhythm.position(window)
            both, share = int(counts.hits[position]), float(counts.shares[position])
            yield _tested(name, label, counts.days, both, share)


def _with_domains(history: History) -> Iterator[_Test]:
    """Entities with domains: the days on which an episode has both."""
    domains: dict[str, int] = {}
    for occasion in history.occasions:
        if occasion.domain:
            domains[occasion.domain] = domains.get(occasion.domain, 0) + 1
    for name, episodes in _things(history):
        if not name.startswith("entity: "):
            continue
        days, of_day = np.unique(history.days[episodes], return_inverse=True)
        times = np.bincount(of_day)
        for domain, total in sorted(domains.items()):
            inside = [history.occasions[number].domain == domain for number in episodes]
            both = len(np.unique(history.days[episodes[np.array(inside)]]))
            chance = 1 - (1 - total / len(history.occasions)) ** times
            yield _tested(name, f"domain: {domain}", len(days), both, float(chance.mean()))


def _tested(first: str, second: str, days: int, both: int, share: float) -> _Test:
    logarithm = binomial_tail(both, days, min(1.0, share))
    probability = max(SMALLEST, float(np.exp(max(-690.0, logarithm))))
    return _Test(first, second, days, both, share, probability)
