"""The change sets of a home, and which of them can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from djinn_memory.memories.changes.domains import visible_plans
from djinn_memory.memories.changes.kept_bytes import KeptBytes
from djinn_memory.memories.changes.plan import DONE, PLANNED, RecordedChange, from_event
from djinn_memory.models import Vault
from djinn_memory.store.ledger import Ledger
from djinn_memory.store.ledger.reading import events_by_kind
from djinn_memory.store.state import State

ChangeStatus = Literal["done", "taken back", "expired"]


class PastChange(Struct, frozen=True):
    """A change set that was carried out."""

    record: RecordedChange
    status: ChangeStatus
    """`expired` when the bytes before the change are no longer kept."""


def past_changes(state: State, vaults: Sequence[Vault]) -> list[PastChange]:
    """The change sets of notes that the readers of these vaults may see, newest first."""
    kept, changes = KeptBytes(state.home), []
    records = _done(state.ledger_if_any)
    undone = _undone(records)
    for record in records:
        status: ChangeStatus = "taken back" if record.id in undone else "done"
        if status == "done" and (record.purged or not kept.holds(record.id)):
            status = "expired"
        changes.append(PastChange(record, status))
    visible = visible_plans(state, vaults, (change.record.plan for change in changes))
    return [change for change, is_visible in zip(changes, visible, strict=True) if is_visible]


def undone_changes(ledger: Ledger | None) -> frozenset[str]:
    """The ids of all change sets that were taken back."""
    return _undone(_done(ledger))


def _done(ledger: Ledger | None) -> Sequence[RecordedChange]:
    """The change sets that were carried out, newest first."""
    events = events_by_kind(ledger, (PLANNED, DONE)) if ledger else ()
    done = {event.subject for event in events if event.kind == DONE}
    return [
        record
        for event in reversed(events)
        if event.kind == PLANNED and event.subject in done and (record := from_event(event))
    ]


def _undone(records: Sequence[RecordedChange]) -> frozenset[str]:
    """The ids of those change sets, newest first, that were taken back."""
    undone: set[str] = set()
    for record in records:
        # An undo that was itself taken back no longer counts.
        if record.plan.undoes and record.id not in undone:
            undone.add(record.plan.undoes)
    return frozenset(undone)


def taken_back(
    state: State, vaults: Sequence[Vault], command: str
) -> frozenset[tuple[str, str, str | None]]:
    """The files of changes of a command that were taken back: vault id, path, digest before.

    Who makes such changes by itself leaves these files alone while they have these bytes.
    """
    return frozenset(
        (file.vault, file.path, file.before)
        for change in past_changes(state, vaults)
        if change.status == "taken back" and change.record.plan.command == command
        for file in change.record.plan.files
    )
