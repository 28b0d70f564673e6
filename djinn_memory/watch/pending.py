"""The changes that were not looked at yet. Pure: `now` is a parameter."""

from __future__ import annotations

from collections.abc import Iterable

from djinn_memory.watch.heard import ALL, FileChanged

SLICE = 256
"""Paths looked at in one go: about a second's reading, so that later changes wait no longer."""


class PendingChanges:
    """Changes of some vaults, in the order in which they came; what comes twice counts once."""

    def __init__(self, vaults: Iterable[str]) -> None:
        self._paths: dict[str, dict[str, None]] = {name: {} for name in vaults}
        self._later: dict[FileChanged, float] = {}

    def __bool__(self) -> bool:
        return any(self._paths.values())

    @property
    def single(self) -> bool:
        """Whether there is more than whole vaults to look at."""
        return any(path != ALL for paths in self._paths.values() for path in paths)

    def add(self, change: FileChanged) -> None:
        """Note a change; one of another vault does not count."""
        for name, paths in self._paths.items():
            if change.vault in (None, name):
                paths[change.path] = None

    def add_later(self, change: FileChanged, due: float) -> None:
        """Add a change once it is due."""
        self._later[change] = due

    def ripen(self, now: float) -> None:
        """Add the changes that are due."""
        for change in [change for change, due in self._later.items() if due <= now]:
            del self._later[change]
            self.add(change)

    def take(self) -> tuple[str, list[str] | None]:
        """Remove and return changes of one vault: its name and its paths, None for all of them.

        There must be a change. Single paths come before whole vaults: they are few, and somebody
        has just written there.
        """
        waiting = [(name, paths) for name, paths in self._paths.items() if paths]
        for name, paths in waiting:
            single = [path for path in paths if path != ALL][:SLICE]
            if single:
                for path in single:
                    del paths[path]
                return name, single
        name, paths = waiting[0]
        paths.clear()
        return name, None
