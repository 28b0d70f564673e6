"""Waits for a database that another process writes, longer and more fairly than SQLite does."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import apsw

BUSY_SECONDS = 60.0
"""The longest wait. The longest transaction reads one note of the largest size."""

BREATH_SECONDS = 0.02
"""The pause after a long transaction. Without it no other process would find the database free."""


def patience(seconds: float | None = None) -> Callable[[int], bool]:
    """A busy handler that retries at short, uneven intervals.

    SQLite's own handler ends up retrying every 0.1 s. It misses the gaps between the transactions
    of a busy writer until its time is over.
    """
    most = BUSY_SECONDS if seconds is None else seconds
    until = 0.0

    def wait(calls: int) -> bool:
        nonlocal until
        now = time.monotonic()
        if calls == 0:
            until = now + most
        time.sleep(random.uniform(0.001, 0.01))
        return now < until

    return wait


def insist(work: Callable[[], object]) -> None:
    """Do `work`, again and again while the database is busy.

    SQLite does not call the busy handler for the first steps into a file. Two processes meet there
    when both create the file, or when one recovers it after a kill.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            work()
            return
        except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError):
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.001, 0.02))
