"""Waits for other processes. One budget limits all waits of an operation, whatever holds it up.

A wait that succeeds costs nothing, because the other process advances. A wait that fails is
charged to the budget, and the same file then gets only a short wait. So the waits of an operation
do not add up.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

NOTICE_SECONDS = 1.0
"""Minimum length in seconds of a wait that is announced."""

WRITE_SECONDS = 6.0
"""Maximum failed waits of an operation that writes little. With a second for its databases it ends
within ten seconds, also on a busy machine."""

RUN_SECONDS = 60.0
"""Maximum failed waits of a long run. An embedding model behind a server may hold a lock for so
long."""

GLANCE_SECONDS = 0.1
"""The wait for a process that kept a file too long. It is longer than a short transaction."""

_seconds = 0.0


class WaitBudget:
    """The waits that an operation can still afford. `say` gets a line for each long wait."""

    def __init__(
        self, seconds: float = RUN_SECONDS, say: Callable[[str], object] = lambda _: None
    ) -> None:
        self.left = self._seconds = seconds
        self.say = say
        self.failed: dict[Path, float] = {}
        """The seconds of failed waits for each file."""
        self.announced = set[Path]()
        """Files whose holders were announced and that were not free since."""

    @property
    def spent(self) -> float:
        """The seconds of failed waits so far."""
        return self._seconds - self.left

    def end(self) -> None:
        """End all waits, also those of other threads."""
        self.left = -math.inf


_budget: ContextVar[WaitBudget | None] = ContextVar("_budget", default=None)


@contextmanager
def limited(budget: WaitBudget) -> Iterator[None]:
    """Limit the waits of the block to a budget. A block inside another has the budget of that."""
    if _budget.get():
        yield
        return
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


def time_left() -> float:
    """The number of seconds that the operation may still wait for other processes."""
    budget = _budget.get()
    return max(0.0, budget.left) if budget else math.inf


class Wait:
    """A wait for the file `path` of at most `seconds`, within the budget of the operation.

    `holder` describes the process that holds the file. `end` the wait when the file is free.
    """

    def __init__(self, path: Path, seconds: float, holder: Callable[[], str]) -> None:
        self._path = path
        self._holder = holder
        self._budget = _budget.get() or WaitBudget()
        rest = seconds - self._budget.failed.get(path, 0.0)
        self._limit = min(max(rest, min(seconds, GLANCE_SECONDS)), self._budget.left)
        self._stalled = 0.0
        self.seconds = 0.0
        """The seconds waited so far."""

    def pause(self, shortest: float, longest: float) -> bool:
        """Sleep before another attempt; False, without a sleep, when the time is over."""
        budget = self._budget
        if self._stalled >= self._limit or budget.left <= 0:
            budget.failed[self._path] = budget.failed.get(self._path, 0.0) + self._stalled
            return False
        seconds = pause(shortest, longest)
        self.seconds += seconds
        self._stalled += seconds
        budget.left -= seconds
        long = max(self.seconds, budget.spent) > NOTICE_SECONDS
        if long and self._path not in budget.announced:
            budget.announced.add(self._path)
            budget.say(f"waiting for {self._holder()} to release {self._path}")
        return True

    def restart(self) -> None:
        """Begin again, because the holder advances or another process holds the file now."""
        self._budget.left += self._stalled
        self._stalled = 0.0

    def end(self) -> None:
        """Charge nothing, because the file is free."""
        self.restart()
        self._budget.failed.pop(self._path, None)
        self._budget.announced.discard(self._path)


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
