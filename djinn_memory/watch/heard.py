"""Messages to the loop of a watch, in a queue that threads and signal handlers may use."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Literal, TypeAlias

from msgspec import Struct

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
