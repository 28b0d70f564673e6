"""The change sets of a home: which can be taken back, and which an agent may know of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.changes.plan import DONE, PLANNED, FileChange, KeptBytes, RecordedChange
from djinn_memory.models import Vault
from djinn_memory.store.index.records import Selection
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
    store, records = KeptBytes(state.home), _done(state.ledger_if_any)
    undone, is_visible = _undone(records), _visibility(state, vaults, records)
    changes = []
    for record in records:
        if not all(map(is_visible, record.plan.files)):
            continue
        status: ChangeStatus = "taken back" if record.id in undone else "done"
        kept = record.plan.is_appended or store.holds(record.id)
        if status == "done" and (record.purged or not kept):
            status = "expired"
        changes.append(PastChange(record, status))
    return changes


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
        if event.kind == PLANNED and event.subject in done and (record := RecordedChange.of(event))
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


def _visibility(
    state: State, vaults: Sequence[Vault], records: Sequence[RecordedChange]
) -> Callable[[FileChange], bool]:
    """A test whether the readers of these vaults may know of the change of a file.

    They may if they could see every memory before and after the change, and can see what the file
    holds now.
    """
    by_id = {vault.id: vault for vault in vaults}
    files = (file for record in records for file in record.plan.files if file.vault in by_id)
    places = {(by_id[file.vault].name, file.path) for file in files}
    hidden = _hidden(state, vaults, tuple(places)) if places else set()

    def is_visible(file: FileChange) -> bool:
        vault = by_id.get(file.vault)
        if vault is None or (vault.name, file.path) in hidden:
            return False
        return not state.home.hides(vault, file.domains)

    return is_visible


def _hidden(
    state: State, vaults: Sequence[Vault], places: tuple[tuple[str, str], ...]
) -> set[tuple[str, str]]:
    """The files of which the readers see no memory, although the index has some."""
    if not any(vault.reader for vault in vaults):
        return set()
    selection, listed = Selection(places=places), []
    for view in (vaults, [replace(vault, reader=None) for vault in vaults]):
        with state.reading(view) as index:
            listed.append({(memory.vault, memory.path) for memory in index.titles(selection)})
    seen, every = listed
    return every - seen
