"""The process that watches the vaults of a home. There is at most one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from djinn_memory.home.home import Home
from djinn_memory.system import locks
from djinn_memory.system.locks import is_locked, lock_holder


def watcher(home: Home) -> int | None:
    """The id of the process that watches this home now, or None."""
    path = _lock_path(home)
    return lock_holder(path) if is_locked(path) else None


def claim(home: Home) -> AbstractContextManager[None]:
    """Become the watcher of this home. Raises `Busy` with the id of any process that already is."""
    return locks.claim(
        _lock_path(home),
        lambda holder: (
            f"{holder} already watches {home.root}; a home can have only one watch, so "
            "stop that process first"
        ),
    )


def _lock_path(home: Home) -> Path:
    return home.state / "watch.lock"
