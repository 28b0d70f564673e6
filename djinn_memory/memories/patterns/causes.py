"""Causal patterns: actions that mostly succeed or fail, and the contexts in which they do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime

from msgspec import Struct

from djinn_memory.home.access import distinct
from djinn_memory.home.settings import PatternsConfig
from djinn_memory.memories.patterns.confidence import confidence, status_of
from djinn_memory.memories.patterns.detection.chance import (
    SMALLEST,
    binomial_tail,
    hypergeometric_tail,
)
from djinn_memory.memories.patterns.outcomes import WORTH, Outcome
from djinn_memory.memories.patterns.requests import LearnedPattern

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
    actions: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        actions.setdefault(outcome.action.casefold(), []).append(outcome)
    for own in actions.values():
        contexts: dict[str, list[Outcome]] = {}
        for outcome in own:
            contexts.setdefault(outcome.context.casefold(), []).append(outcome)
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
