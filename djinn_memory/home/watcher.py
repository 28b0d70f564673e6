"""Who follows the vaults of a home: one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from djinn_memory.errors import Busy
from djinn_memory.home.home import Home
from djinn_memory.system.locks import is_locked, lock, lock_holder


def watcher(home: Home) -> int | None:
    """The id of the process that follows this home now; None where there is none."""
    place = _place(home)
    return lock_holder(place) if is_locked(place) else None


@contextmanager
def claim(home: Home) -> Iterator[None]:
    """Be the one that follows this home; `Busy` names the other there is."""
    with ExitStack() as stack:
        try:
            # Not at once: `watcher` holds it for a moment to see whether somebody does.
            stack.enter_context(lock(_place(home), timeout=0.3))
        except Busy:
            other = lock_holder(_place(home))
            raise Busy(
                f"process {other or 'of another user'} watches {home.root} already; "
                "there can be one for a home, so stop that one first"
            ) from None
        yield


def _place(home: Home) -> Path:
    return home.state / "watch.lock"
