"""The plan of a change set: the content of each file before and after it, as the ledger keeps it.

A plan holds hashes, not text. The bytes before the change are in `kept_bytes`.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from djinn_memory.store.ledger import Event
from djinn_memory.store.ledger.redaction import BLANK

PLANNED, DONE = "change.planned", "change.done"
"""The kinds of the events of a change set: its plan, and that all of it was done. An older version
of djinn recorded the plan before the first step."""


class FileChange(Struct, frozen=True):
    """The change of one file. A moved file is one file that is created and one that is removed."""

    vault: str
    """The id of its vault."""
    path: str
    """Its path, relative to the folder of the vault."""
    before: str | None
    """The hash of its bytes before the change; None if it does not exist then."""
    after: str | None
    """The hash of its bytes after the change; None if it does not exist then."""
    mode: int | None = None
    """Its permissions, for a file that is created or removed; None for those of a new file."""
    domains: tuple[str, ...] = ()
    """The domains of its changed memories, before and after the change."""


class ChangePlan(Struct, frozen=True):
    """The files of a change set, in the order in which they change."""

    command: str
    """The command that makes the change, such as `lint --fix`."""
    what: str
    """The change, in one sentence. Empty if its files say it."""
    files: tuple[FileChange, ...]
    """The files. Created files come first and removed files last, so that no text is missing at any
    moment."""
    folders: tuple[tuple[str, str], ...] = ()
    """The folders that the change creates, by vault id and path, outer folders first."""
    undoes: str | None = None
    """The id of the change set that this one takes back."""
    agent: str | None = None
    """The agent for whom the change is made; None for the user of the home."""
    trash: bool = False
    """Whether files that are removed, also by its undo, go to the trash of their vaults."""

    @property
    def is_one_write(self) -> bool:
        """Whether the change is one write, which is never done in part and loses no file."""
        return len(self.files) == 1 and self.files[0].after is not None


class RecordedChange(Struct, frozen=True):
    """A plan in the ledger."""

    id: str
    at: datetime
    plan: ChangePlan

    @property
    def purged(self) -> bool:
        """Whether a purge has removed a part of the plan, which can then not be taken back."""
        return any(file.path == BLANK for file in self.plan.files)


def digest(data: bytes | None) -> str | None:
    """The hash by which a plan recognises the bytes of a file; None for a file that does not
    exist.
    """
    return None if data is None else hashlib.sha256(data).hexdigest()


def to_event(identity: str, plan: ChangePlan) -> Event:
    """The event that announces a change set."""
    data: dict[str, Any] = msgspec.to_builtins(plan)
    vaults = {file.vault for file in plan.files}
    # A purge looks at the agent and the vault of an event; see `Ledger.redact`.
    if data["agent"] is None:
        del data["agent"]
    if len(vaults) == 1:
        data["vault"] = vaults.pop()
    return Event(PLANNED, identity, data)


def from_event(event: Event) -> RecordedChange | None:
    """The change set that an event announces. None for data of another program."""
    try:
        plan = msgspec.convert(event.data, ChangePlan)
        return RecordedChange(event.subject, datetime.fromisoformat(event.at), plan)
    except (msgspec.ValidationError, ValueError):
        return None
