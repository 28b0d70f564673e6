"""How the cost of work grows: ratios and counts, which no busy machine changes."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

FACTOR = 8
"""How much larger the large input is."""
MARGIN = 3
"""How many times the linear growth is accepted: quadratic growth is `FACTOR` times it."""
NOISE = 0.2
"""Seconds of the processor below which no growth is measured."""


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail where `work(size)` costs the processor far more than `FACTOR` times an eighth of it."""
    small = large = math.inf
    for _ in range(5):
        large = min(large, _cost(work, size))
        if large < NOISE:
            return
        small = min(small, _cost(work, size // FACTOR))
        if large < NOISE + MARGIN * FACTOR * small:
            return
    raise AssertionError(f"{small:.2f} s, then {large:.2f} s")


@contextmanager
def sqlite_work() -> Iterator[Counter[str]]:
    """Counts the `steps`, in hundreds, of the databases that are opened meanwhile."""
    work: Counter[str] = Counter()

    def count() -> bool:
        work["steps"] += 1
        return False

    def watch(connection: apsw.Connection) -> None:
        connection.set_progress_handler(count, 100)

    apsw.connection_hooks.append(watch)
    try:
        yield work
    finally:
        apsw.connection_hooks.remove(watch)


def _cost(work: Callable[[int], object], size: int) -> float:
    """The processor's seconds for the work on an input of the size."""
    began = time.process_time()
    work(size)
    return time.process_time() - began
