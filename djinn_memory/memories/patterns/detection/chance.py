"""Probabilities that chance explains counts, and the confidence of patterns. Pure.

Logarithms are natural.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from djinn_memory.home.settings import PatternsConfig
from djinn_memory.memories.patterns.requests import PatternStatus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

SMALLEST = 1e-300
"""Probabilities below this are reported as this."""

NEGLIGIBLE = 45
"""A term whose logarithm is that much smaller changes no digit of a sum."""


def binomial_tail(hits: int, trials: int, share: float) -> float:
    """The logarithm of the probability of at least `hits` in `trials` with probability `share`."""
    if hits <= 0 or share >= 1:
        return 0.0
    if share <= 0:
        return math.log(SMALLEST)
    whole = math.lgamma(trials + 1)
    hit, miss = math.log(share), math.log1p(-share)
    terms: list[float] = []
    for count in range(hits, trials + 1):
        ways = whole - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
        terms.append(ways + count * hit + (trials - count) * miss)
        # Beyond the mean each term is smaller than the one before.
        if count > trials * share and terms[-1] < terms[0] - NEGLIGIBLE:
            break
    most = max(terms)
    return min(0.0, most + math.log(math.fsum(math.exp(term - most) for term in terms)))


def tail_bound(hits: Numbers, trials: int, share: Numbers) -> Numbers:
    """Chernoff's upper bound of `binomial_tail` for many windows at once.

    A tail of trials with different probabilities is below the bound for their mean (Hoeffding
    1956), so that the bound also holds for them.
    """
    rate = np.clip(hits / trials, 1e-12, 1 - 1e-12)
    share = np.clip(share, 1e-12, 1 - 1e-12)
    divergence = rate * np.log(rate / share) + (1 - rate) * np.log((1 - rate) / (1 - share))
    bound: Numbers = np.where(rate > share, -trials * divergence, 0.0)
    return bound


def hypergeometric_tail(both: int, first: int, second: int, total: int) -> float:
    """The probability that two sets of days of a total share at least `both` days by chance."""
    most = min(first, second)
    if both <= max(0, first + second - total):
        return 1.0
    if both > most:
        return SMALLEST

    def choose(upper: int, lower: int) -> float:
        return math.lgamma(upper + 1) - math.lgamma(lower + 1) - math.lgamma(upper - lower + 1)

    terms = [
        choose(first, shared) + choose(total - first, second - shared) - choose(total, second)
        for shared in range(both, most + 1)
        if second - shared <= total - first
    ]
    return max(SMALLEST, min(1.0, math.fsum(map(math.exp, terms))))


def false_discovery_rates(probabilities: Sequence[float]) -> list[float]:
    """The q-values of Benjamini and Hochberg (1995), in the order given."""
    number = len(probabilities)
    order = sorted(range(number), key=lambda position: -probabilities[position])
    rates = [1.0] * number
    least = 1.0
    for larger, position in enumerate(order):
        least = min(least, probabilities[position] * number / (number - larger))
        rates[position] = least
    return rates


def odds_ratio(share: float, expected: float) -> float:
    """The odds of a share, divided by the odds of the expected one."""
    share, expected = min(share, 0.999), min(max(expected, 1e-6), 0.999)
    return share / (1 - share) * (1 - expected) / expected


MOST = 0.95
"""The highest confidence: episodes never prove a pattern."""

HALVING_DAYS = 10
"""Days of evidence beyond chance that halve the distance to the highest confidence."""


def confidence(days: int, expected: float = 0.0) -> float:
    """The confidence of a pattern with evidence on some days, of which chance explains a part.

    `0.95 * (1 - 2 ** (-(days - expected) / 10))`: 0.475 for 10 days beyond chance, 0.7125 for 20.
    """
    beyond = max(0.0, days - expected)
    return round(MOST * (1 - 2 ** (-beyond / HALVING_DAYS)), 3)


def status_of(
    certainty: float, last_seen: date, today: date, config: PatternsConfig
) -> PatternStatus:
    """The status of a pattern: deprecated once it was not reinforced for a long time."""
    if today - last_seen >= timedelta(days=config.deprecated_days):
        return "deprecated"
    return "active" if certainty >= config.active else "emerging"
