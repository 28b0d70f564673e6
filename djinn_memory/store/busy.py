"""Waits for a database that another process writes, longer and more fairly than SQLite does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import apsw

from djinn_memory.errors import Busy, Remedy
from djinn_memory.system import waits
from djinn_memory.system.files import file_id
from djinn_memory.system.waits import GLANCE_SECONDS, Wait

BUSY_SECONDS = 30.0
"""Maximum wait for one database. The longest transaction reads one note of maximum size."""

ANSWER_SECONDS = 1.5
"""Maximum total time in seconds that an operation waits for databases, so that it answers within
two seconds more. A long run waits for each database as long as `BUSY_SECONDS`."""

WRITE_SECONDS = 1.0
"""Maximum time in seconds that a note waits for databases. It is then written without them."""

BREATH_SECONDS = 0.02
"""The pause after a long transaction, so that other processes can get the database."""

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
    # To the microsecond, since the sum of many pauses is not exact.
    left = BUSY_SECONDS if most is None else max(0.0, round(most - _thread.waited, 6))
    return min(left, waits.time_left())


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
    wait: Wait | None = None

    def retry(calls: int) -> bool:
        nonlocal wait
        if calls == 0:
            if wait:
                # SQLite does not say when the database was free: the wait before ended well.
                wait.end()
            wait = _wait(path)
        if wait and not _paused(wait, 0.01):
            wait = None
        return wait is not None

    return retry


def insist(path: Path, work: Callable[[], object]) -> None:
    """Do `work`, and retry while the database at `path` is busy.

    SQLite does not call the busy handler for the first steps into a file. Two processes collide
    there when both create the file, or when one recovers it after a kill.
    """
    wait = _wait(path)
    while True:
        try:
            work()
            wait.end()
            return
        except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError):
            if not _paused(wait, 0.02):
                raise


def _wait(path: Path) -> Wait:
    return Wait(path, time_left(), lambda: _holder(path))


def _paused(wait: Wait, longest: float) -> bool:
    """Pause before another attempt; False when the time is over."""
    before = wait.seconds
    goes_on = wait.pause(0.001, longest)
    _thread.waited += wait.seconds - before
    return goes_on


def in_use(path: str | Path) -> Busy:
    """The error for a database that stays busy."""
    later = Remedy(purpose="try again when it has finished")
    return Busy(f"{_holder(Path(path))} is using {path}", later)


def _holder(path: Path) -> str:
    number = _writer(path)
    return "another process" + (f" (pid {number})" if number else "")


def _writer(path: Path) -> int | None:
    """The id of another process that keeps the database at `path` from being written, if known.

    SQLite locks bytes of the database, or in WAL mode of the file `-shm` beside it. Linux lists the
    locks. The files are not opened here, because closing one would release this process's locks.
    """
    wanted = {_listed(id) for id in map(file_id, (path, Path(f"{path}-shm"))) if id}
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            _, kind, _, access, number, place, *_ = line.replace("-> ", "").split()
            held = "->" not in line and kind == "POSIX" and access == "WRITE"
            if held and place in wanted and int(number) not in (os.getpid(), -1):
                return int(number)
    return None


def _listed(id: tuple[int, int]) -> str:
    """A file as it is named in `/proc/locks`."""
    device, inode = id
    return f"{os.major(device):02x}:{os.minor(device):02x}:{inode}"
