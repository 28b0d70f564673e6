"""Probabilities, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.patterns.detection.chance import (
    binomial_tail,
    false_discovery_rates,
    odds_ratio,
    tail_bound,
)


@pytest.mark.parametrize(
    ("hits", "trials", "share", "probability"),
    [
        (0, 5, 0.5, 1.0),
        (5, 5, 0.5, 1 / 32),
        (4, 5, 0.5, 6 / 32),
        (1, 2, 0.1, 0.19),
        (3, 3, 0.2, 0.008),
    ],
)
def test_the_tail_of_the_binomial_distribution(
    hits: int, trials: int, share: float, probability: float
) -> None:
    assert math.exp(binomial_tail(hits, trials, share)) == pytest.approx(probability)


@given(st.integers(1, 200), st.floats(0, 1), st.floats(0.001, 0.999))
def test_the_bound_is_never_below_the_tail(trials: int, part: float, share: float) -> None:
    hits = round(trials * part)
    bound = tail_bound(np.array([float(hits)]), trials, np.array([share]))[0]
    assert bound >= binomial_tail(hits, trials, share) - 1e-6


def test_rates_of_false_discoveries() -> None:
    # Sorted: .01 * 4 / 1, .02 * 4 / 2, .03 * 4 / 3, .5 * 4 / 4, each at most the next one.
    assert false_discovery_rates([0.5, 0.02, 0.01, 0.03]) == pytest.approx([0.5, 0.04, 0.04, 0.04])


def test_the_ratio_of_odds() -> None:
    assert odds_ratio(0.75, 0.5) == pytest.approx(3.0)
    assert odds_ratio(1.0, 0.5) == pytest.approx(999.0)
