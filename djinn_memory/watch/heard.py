"""What the parts of a watch tell its loop: a queue that threads and signals may write to."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Literal, TypeAlias

from msgspec import Struct

ALL = ""
"""The path that stands for the whole vault."""


class FileChanged(Struct, frozen=True):
    """A file or folder may have changed, appeared or gone."""

    vault: str | None
    """Its name; None for every vault."""
    path: str
    """Relative to the vault's root, or `ALL`."""


class FileDropped(Struct, frozen=True):
    """A file of the inbox may be new."""

    path: str


class StopWatch(Struct, frozen=True):
    """The watch is to end."""


Kind = Literal["start", "update", "embed", "ingest", "warning", "idle"]


class Notice(Struct, frozen=True):
    """What a watch has to say."""

    kind: Kind
    """`idle`: all that is known of is searchable."""
    text: str
    """One line for a person."""


Tell = Callable[[Notice], None]

Heard: TypeAlias = "SimpleQueue[FileChanged | FileDropped | Notice | StopWatch]"
"""Not a `Queue`: its lock is not to be taken in a signal handler."""
