"""The confidence and the status of a pattern. Pure."""

from __future__ import annotations

from datetime import date, timedelta

from djinn_memory.home.settings import PatternsConfig
from djinn_memory.memories.patterns.requests import PatternStatus

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
