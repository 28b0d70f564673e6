"""Waiting for a database that another process writes: longer and fairer than SQLite does."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import apsw

BUSY_SECONDS = 60.0
"""The longest transaction that is waited for: to read one note, of the largest that are read."""

BREATH_SECONDS = 0.02
"""Between long transactions: without it nobody else would ever find the database free."""


def patience(seconds: float | None = None) -> Callable[[int], bool]:
    """A busy handler that looks often and unevenly.

    SQLite's own looks every 0.1 s at last, and so misses the gaps between a busy writer's
    transactions until its time is over.
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
    """Do what SQLite may refuse without asking the busy handler: the first steps into a file.

    Two who make it at once, or one who recovers what a killed process left, meet there.
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
