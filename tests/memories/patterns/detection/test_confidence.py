"""Confidence and status, against values worked out by hand."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from djinn_memory.home.settings import PatternsConfig
from djinn_memory.memories.patterns.detection.chance import confidence, status_of

TODAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    ("days", "expected", "value"),
    [
        (0, 0, 0.0),
        (10, 0, 0.475),  # 0.95 * (1 - 1/2)
        (20, 0, 0.712),  # 0.95 * (1 - 1/4) = 0.7125
        (30, 0, 0.831),  # 0.95 * (1 - 1/8) = 0.83125
        (40, 10, 0.831),  # chance explains 10 of the days
        (5, 8, 0.0),  # fewer days than by chance
        (1000, 0, 0.95),
    ],
)
def test_confidence_grows_with_the_days_beyond_chance(
    days: int, expected: float, value: float
) -> None:
    assert confidence(days, expected) == pytest.approx(value, abs=0.0006)


def test_confidence_never_falls_with_more_evidence() -> None:
    values = [confidence(days) for days in range(500)]
    assert values == sorted(values)
    assert max(values) == 0.95


@pytest.mark.parametrize(
    ("certainty", "days_ago", "status"),
    [
        (0.59, 0, "emerging"),
        (0.6, 0, "active"),
        (0.95, 89, "active"),
        (0.95, 90, "deprecated"),
        (0.3, 400, "deprecated"),
    ],
)
def test_a_pattern_is_deprecated_after_90_days(
    certainty: float, days_ago: int, status: str
) -> None:
    last = TODAY - timedelta(days=days_ago)
    assert status_of(certainty, last, TODAY, PatternsConfig()) == status
