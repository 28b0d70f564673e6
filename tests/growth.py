"""How the cost of hostile input grows: a ratio, which no busy machine changes."""

from __future__ import annotations

import time
from collections.abc import Callable

FACTOR = 8
"""How much larger the large input is."""
MARGIN = 3
"""How many times the linear growth is accepted: quadratic growth is `FACTOR` times it."""
NOISE = 0.2
"""Seconds of the processor below which no growth is measured."""


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail where `work(size)` costs the processor far more than `FACTOR` times an eighth of it."""
    large = _cost(work, size)
    if large > NOISE:
        small = min(_cost(work, size // FACTOR) for _ in range(3))
        large = min(large, _cost(work, size))
        assert large < NOISE + MARGIN * FACTOR * small, f"{small:.2f} s, then {large:.2f} s"


def assert_constant(work: Callable[[int], object], size: int) -> None:
    """Fail where `work(size)` costs the processor far more than `work` of an eighth of it."""
    large = _cost(work, size)
    if large > NOISE:
        small = min(_cost(work, size // FACTOR) for _ in range(3))
        large = min(large, _cost(work, size))
        assert large < NOISE + MARGIN * small, f"{small:.2f} s, then {large:.2f} s"


def _cost(work: Callable[[int], object], size: int) -> float:
    """The processor's seconds for the work on an input of the size."""
    began = time.process_time()
    work(size)
    return time.process_time() - began
