"""The process that watches the vaults of a home. There is at most one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from djinn_memory.errors import Busy
from djinn_memory.home.home import Home
from djinn_memory.system.locks import is_locked, lock, lock_holder


def watcher(home: Home) -> int | None:
    """The id of the process that watches this home now, or None."""
    path = _lock_path(home)
    return lock_holder(path) if is_locked(path) else None


@contextmanager
def claim(home: Home) -> Iterator[None]:
    """Become the watcher of this home. Raises `Busy` with the id of any process that already is."""
    path = _lock_path(home)
    with ExitStack() as stack:
        try:
            # `watcher` takes the lock for a moment, so a held lock is tried for a while.
            stack.enter_context(lock(path, timeout=0.3))
        except Busy:
            raise Busy(
                f"process {lock_holder(path) or 'of another user'} already watches {home.root}; "
                "a home can have only one watch, so stop that process first"
            ) from None
        yield


def _lock_path(home: Home) -> Path:
    return home.state / "watch.lock"
