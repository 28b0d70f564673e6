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
"""Maximum wait for one database. The longest transaction reads one note of maximum size."""

ANSWER_SECONDS = 2.0
"""Maximum total time in seconds that an operation waits for databases."""

WRITE_SECONDS = 1.0
"""Maximum time in seconds that a note waits for databases. It is then written without them."""

BREATH_SECONDS = 0.02
"""The pause after a long transaction, so that other processes can get the database."""

GLANCE_SECONDS = 0.1
"""The wait for a process that kept a database too long. It is longer than a short transaction."""

AGAIN_SECONDS = 30.0
"""After this time, such a process gets the usual wait again."""


class _Thread(threading.local):
    waited = 0.0
    """Seconds that the thread has spent waiting for databases."""


_thread = _Thread()
_most: ContextVar[float | None] = ContextVar("_most", default=None)
"""Maximum value for `_thread.waited`."""


def time_left() -> float:
    """The number of seconds that this thread may still wait for a database; see `within`."""
    most = _most.get()
    return BUSY_SECONDS if most is None else max(0.0, most - _thread.waited)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the total time that the block waits for databases. Also works as a decorator."""
    token = _most.set(_thread.waited + min(seconds, time_left()))
    try:
        yield
    finally:
        _most.reset(token)


class Patience:
    """Limits the time spent waiting for one database, however often it is used.

    After a timeout, the next waits for that database are short. So an answer that needs the
    database three times does not wait three full times.
    """

    def __init__(self) -> None:
        self._glance_until = 0.0

    @contextmanager
    def waiting(self, seconds: float, *, forgets: bool = True) -> Iterator[None]:
        """Limit the total wait of the block to `seconds`; after an earlier `Busy`, to a short wait.

        A block without `Busy` restores the full wait, unless `forgets` is False.
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
    """A busy handler for the database at `path` that retries at short, uneven intervals.

    SQLite's own handler slows down to a retry every 0.1 s. It then misses the gaps between the
    transactions of a busy writer until it times out.
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
    """Do `work`, and retry while the database is busy.

    SQLite does not call the busy handler for the first steps into a file. Two processes collide
    there when both create the file, or when one recovers it after a kill.
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
    """The error for a database that stays busy."""
    later = Remedy(purpose="try again when it has finished")
    return Busy(f"another process is using {path}", later)
