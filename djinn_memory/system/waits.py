"""Waits for other processes in uneven pauses; counts that time, and announces long waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NOTICE_SECONDS = 1.0
"""A process that waits longer says what it waits for."""

_seconds = 0.0

_listener: ContextVar[Callable[[str], object]] = ContextVar("_listener", default=lambda _: None)


def pause(shortest: float, longest: float) -> float:
    """Sleep before another try for a lock. Uneven pauses keep many processes from trying at once.

    Both bounds are in seconds. Returns the seconds that it took.
    """
    global _seconds
    began = time.monotonic()
    time.sleep(random.uniform(shortest, longest))
    seconds = time.monotonic() - began
    _seconds += seconds
    return seconds


def seconds_waited() -> float:
    """The seconds that this process has spent waiting for locks, of files and of databases."""
    return _seconds


@contextmanager
def announced(listener: Callable[[str], object]) -> Iterator[None]:
    """Inside, `listener` receives a line for each wait that takes longer than a second."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(text: str) -> None:
    """Say what a wait is for that takes long."""
    _listener.get()(text)
