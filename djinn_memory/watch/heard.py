"""Messages to the loop of a watch: a queue for threads and signal handlers, and pending work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Literal, TypeAlias

from msgspec import Struct

SLICE = 256
"""Paths handled at once: about a second of reading, so that later changes need not wait longer."""


class PendingChanges:
    """Changes of some vaults, in order of arrival. Repeated changes count once."""

    def __init__(self, vaults: Iterable[str]) -> None:
        self._paths: dict[str, dict[str, None]] = {name: {} for name in vaults}
        self._later: dict[FileChanged, float] = {}

    def __bool__(self) -> bool:
        return any(self._paths.values())

    @property
    def single(self) -> bool:
        """Whether there are changes of single paths."""
        return any(path != ALL for paths in self._paths.values() for path in paths)

    def add(self, change: FileChanged) -> None:
        """Add a change. Changes of other vaults are ignored."""
        for name, paths in self._paths.items():
            if change.vault in (None, name):
                paths[change.path] = None

    def add_later(self, change: FileChanged, due: float) -> None:
        """Add a change that becomes due later."""
        self._later[change] = due

    def ripen(self, now: float) -> None:
        """Add the changes that are due."""
        for change in [change for change, due in self._later.items() if due <= now]:
            del self._later[change]
            self.add(change)

    def take(self) -> tuple[str, list[str] | None]:
        """Remove and return changes of one vault: its name, and its paths or None for all of it.

        There must be a change. Single paths come before whole vaults, because they are few and were
        just edited.
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


ALL = ""
"""The path that stands for a whole vault."""


class FileChanged(Struct, frozen=True):
    """A file or folder may have been changed, created or removed."""

    vault: str | None
    """The name of the vault; None for all vaults."""
    path: str
    """The path relative to the vault's root, or `ALL`."""


class FileDropped(Struct, frozen=True):
    """A file in the inbox may be new."""

    path: str


class StopWatch(Struct, frozen=True):
    """The watch must end."""


Kind = Literal["start", "update", "embed", "ingest", "warning", "idle"]


class Notice(Struct, frozen=True):
    """A message of a watch to the user."""

    kind: Kind
    """The kind of message. `idle` means that all known changes are searchable."""
    text: str
    """One line for a person."""


Tell = Callable[[Notice], None]

Heard: TypeAlias = "SimpleQueue[FileChanged | FileDropped | Notice | StopWatch]"
"""Not a `Queue`, because a signal handler must not take its lock."""
