"""Waits for a database that another process writes, longer and more fairly than SQLite does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import apsw

from djinn_memory.errors import Busy, Remedy
from djinn_memory.system.waits import NOTICE_SECONDS, announce, pause

BUSY_SECONDS = 60.0
"""The longest wait. The longest transaction reads one note of the largest size."""

ANSWER_SECONDS = 2.0
"""The longest time that an operation waits for databases, in all."""

WRITE_SECONDS = 1.0
"""The longest time that a note waits for databases before it is written without them."""

BREATH_SECONDS = 0.02
"""The pause after a long transaction. Without it no other process would find the database free."""

GLANCE_SECONDS = 0.1
"""The wait for a process that has been waited for in vain: longer than a short transaction."""

AGAIN_SECONDS = 30.0
"""After this time such a process is waited for as any other."""


class _Thread(threading.local):
    waited = 0.0
    """Seconds that the thread has spent waiting for databases."""


_thread = _Thread()
_most: ContextVar[float | None] = ContextVar("_most", default=None)
"""What `_thread.waited` may rise to."""


def time_left() -> float:
    """The seconds that this thread may still wait for a database; see `within`."""
    most = _most.get()
    return BUSY_SECONDS if most is None else max(0.0, most - _thread.waited)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Inside, all waits for databases together take at most so long. Also a decorator."""
    token = _most.set(_thread.waited + min(seconds, time_left()))
    try:
        yield
    finally:
        _most.reset(token)


class Patience:
    """Bounds the time that is spent waiting for one database, however often it is used.

    A process that holds the database for longer is met again with hardly a wait, so that an answer
    that needs the database three times does not wait three times.
    """

    def __init__(self) -> None:
        self._glance_until = 0.0

    @contextmanager
    def waiting(self, seconds: float, *, forgets: bool = True) -> Iterator[None]:
        """Inside, all waits together take at most so long; `Busy` after that is remembered.

        It is forgotten when no `Busy` comes any more, unless `forgets` is False.
        """
        glances = time.monotonic() < self._glance_until
        try:
            with within(GLANCE_SECONDS if glances else seconds):
                yield
        except (Busy, apsw.BusyError):
            self._glance_until = time.monotonic() + AGAIN_SECONDS
            raise
        if forgets:
            self._glance_until = 0.0


def patience(path: Path) -> Callable[[int], bool]:
    """A busy handler that retries at short, uneven intervals, for the database at `path`.

    SQLite's own handler ends up retrying every 0.1 s. It misses the gaps between the transactions
    of a busy writer until its time is over.
    """
    began = until = 0.0
    announced = False

    def wait(calls: int) -> bool:
        nonlocal began, until, announced
        now = time.monotonic()
        if calls == 0:
            began, until, announced = now, now + time_left(), False
        elif not announced and now - began > NOTICE_SECONDS:
            announced = True
            announce(f"waiting for another process to release {path}")
        _thread.waited += pause(0.001, 0.01)
        return now < until

    return wait


def insist(work: Callable[[], object]) -> None:
    """Do `work`, again and again while the database is busy.

    SQLite does not call the busy handler for the first steps into a file. Two processes meet there
    when both create the file, or when one recovers it after a kill.
    """
    until = time.monotonic() + time_left()
    while True:
        try:
            work()
            return
        except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError):
            if time.monotonic() > until:
                raise
            _thread.waited += pause(0.001, 0.02)


def in_use(path: str | Path) -> Busy:
    """The error when a database was waited for in vain."""
    later = Remedy(purpose="try again when it has finished")
    return Busy(f"another process is using {path}", later)
