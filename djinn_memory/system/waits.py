"""Waits for other processes with uneven pauses, measures that time, and announces long waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NOTICE_SECONDS = 1.0
"""Minimum length in seconds of a wait that is announced."""

_seconds = 0.0

_listener: ContextVar[Callable[[str], object]] = ContextVar("_listener", default=lambda _: None)


def pause(shortest: float, longest: float) -> float:
    """Sleep before another attempt at a lock. Uneven pauses keep processes from colliding.

    Both bounds are in seconds. Returns the seconds slept.
    """
    global _seconds
    began = time.monotonic()
    time.sleep(random.uniform(shortest, longest))
    seconds = time.monotonic() - began
    _seconds += seconds
    return seconds


def seconds_waited() -> float:
    """The seconds that this process has spent waiting for locks of files and databases."""
    return _seconds


@contextmanager
def announced(listener: Callable[[str], object]) -> Iterator[None]:
    """In the block, `listener` receives a line for each wait that is longer than a second."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(text: str) -> None:
    """Announce the reason for a long wait."""
    _listener.get()(text)
