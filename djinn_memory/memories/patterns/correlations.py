"""Correlations: of things on the same days, and of actions with their outcomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from djinn_memory.home.access import distinct
from djinn_memory.home.settings import PatternsConfig
from djinn_memory.languages.days import WEEKDAY_NAMES
from djinn_memory.memories.patterns.detection.chance import (
    SMALLEST,
    binomial_tail,
    confidence,
    false_discovery_rates,
    hypergeometric_tail,
    status_of,
)
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, History
from djinn_memory.memories.patterns.detection.windows import EVERY_DAY, Rhythm, TimeWindow
from djinn_memory.memories.patterns.outcomes import WORTH, Outcome, by_name
from djinn_memory.memories.patterns.requests import Correlation, CorrelationList, LearnedPattern

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
    domains = Counter(occasion.domain for occasion in history.occasions if occasion.domain)
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


FEWEST = 6
"""The least number of outcomes of a tendency."""

SIGNIFICANCE = 0.01
"""The highest probability by chance, corrected for the number of tests. Somebody records an outcome
on purpose, so that there are few of them, and each says more than an episode."""


class _Tendency(Struct, frozen=True):
    """An action that mostly ends in one way, in general or in a context."""

    action: str
    context: str
    result: str
    outcomes: tuple[Outcome, ...]
    """The outcomes with this result."""
    total: int
    expected: float
    probability: float


def find_causes(
    outcomes: Sequence[Outcome], today: date, config: PatternsConfig
) -> list[LearnedPattern]:
    """The causal patterns in outcomes, the most significant first."""
    tests = [*_tendencies(outcomes)]
    significant = [
        tendency
        for tendency in tests
        if len(tendency.outcomes) >= FEWEST and tendency.probability * len(tests) <= SIGNIFICANCE
    ]
    significant.sort(key=lambda each: (each.probability, each.action, each.context, each.result))
    return [_pattern(tendency, len(tests), today, config) for tendency in significant]


def _tendencies(outcomes: Sequence[Outcome]) -> Iterator[_Tendency]:
    """Each action and context with each result, tested."""
    for own in by_name(outcomes, "action").values():
        contexts = by_name(own, "context")
        for result in ("success", "failure"):
            ended = [outcome for outcome in own if outcome.result == result]
            tail = math.exp(max(-690.0, binomial_tail(len(ended), len(own), 0.5)))
            action = own[0].action
            yield _Tendency(action, "", result, tuple(ended), len(own), len(own) / 2, tail)
            for there in (group for key, group in contexts.items() if key and len(contexts) > 1):
                both = tuple(outcome for outcome in there if outcome.result == result)
                tail = hypergeometric_tail(len(both), len(there), len(ended), len(own))
                expected = len(there) * len(ended) / len(own)
                yield _Tendency(action, there[0].context, result, both, len(there), expected, tail)


def _pattern(
    tendency: _Tendency, tests: int, today: date, config: PatternsConfig
) -> LearnedPattern:
    verb = {"success": "succeeds", "failure": "fails"}[tendency.result]
    where = f" in the context \u201c{tendency.context}\u201d" if tendency.context else ""
    days = [
        datetime.fromisoformat(outcome.date).astimezone().date() for outcome in tendency.outcomes
    ]
    certainty = confidence(len(tendency.outcomes), tendency.expected)
    worth = WORTH[tendency.result]
    words = (
        f"action:{tendency.action.casefold()}",
        f"in:{tendency.context.casefold()}",
        str(worth),
    )
    domains = distinct(name for outcome in tendency.outcomes for name in outcome.domains)
    return LearnedPattern(
        domain=domains[0] if len(domains) == 1 else None, domains=domains,
        name=f"\u201c{tendency.action}\u201d mostly {verb}{where}",
        category="causal", habit=False, confidence=certainty,
        status=status_of(certainty, max(days), today, config),
        action=tendency.action, words=words,
        support=len({*days}), evidence_count=len(tendency.outcomes),
        strength=round(len(tendency.outcomes) / tendency.total, 3),
        expected=round(tendency.expected, 2),
        p_value=float(f"{max(SMALLEST, tendency.probability):.2e}"),
        q_value=float(f"{min(1.0, max(SMALLEST, tendency.probability * tests)):.2e}"),
        first_seen=min(days).isoformat(), last_seen=max(days).isoformat(),
        evidence=tuple(outcome.link for outcome in tendency.outcomes[-config.evidence :]),
    )  # fmt: skip
