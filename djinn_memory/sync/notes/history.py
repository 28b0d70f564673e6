"""What a home knows of a scope, after an interrupted run and after the server was restored."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.store.ledger import sync_state
from djinn_memory.store.ledger.sync_state import NoteBase, PlannedStep, ScopeState
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.sync.notes.link import VaultLink


class ScopeHistory(Struct, frozen=True):
    """What the home and the server have in common."""

    state: ScopeState
    bases: dict[UUID, NoteBase]
    past: Mapping[UUID, frozenset[bytes]]
    """The hashes of the texts that they ever had in common, of notes whose base is lost."""


def recover(link: VaultLink) -> None:
    """Conclude the steps of an interrupted run that were carried out."""
    if steps := sync_state.steps(link.ledger, link.scope):
        sync_state.record_bases(link.ledger, link.scope, _carried_out(link, steps))
        sync_state.plan(link.ledger, link.scope, [])


def current(link: VaultLink) -> ScopeHistory:
    """What they have in common now. Records a restore of the server. Call `recover` first."""
    common = _common_rev(link)
    if common is not None:
        sync_state.restored(link.ledger, link.scope, common)
    return _recorded(link)


def preview(link: VaultLink) -> ScopeHistory:
    """What `recover` and `current` would find. Writes nothing."""
    history = _recorded(link)
    steps = sync_state.steps(link.ledger, link.scope)
    bases: dict[UUID, NoteBase | None] = {**history.bases, **_carried_out(link, steps)}
    known = {note_id: base for note_id, base in bases.items() if base}
    common = _common_rev(link)
    if common is None:
        return _history(link, history.state, known)
    return _history(link, *sync_state.after_restore(history.state, known, common))


def _recorded(link: VaultLink) -> ScopeHistory:
    return _history(
        link,
        sync_state.scope_state(link.ledger, link.scope),
        sync_state.bases(link.ledger, link.scope),
    )


def _history(link: VaultLink, state: ScopeState, bases: dict[UUID, NoteBase]) -> ScopeHistory:
    lost = [note_id for note_id, base in bases.items() if base.rev == sync_state.LOST]
    return ScopeHistory(state, bases, sync_state.past_hashes(link.ledger, link.scope, lost))


def _carried_out(link: VaultLink, steps: list[PlannedStep]) -> dict[UUID, NoteBase | None]:
    """The new bases of those of the steps that were carried out."""
    pushed = [step.note_id for step in steps if step.step == "push"]
    current = {}
    if pushed:
        with link.reading() as cursor:
            current = server_notes.states(cursor, link.scope, pushed)
    states: dict[UUID, NoteBase | None] = {}
    for step in steps:
        if step.step == "pull" and _has(link, step):
            states[step.note_id] = NoteBase(step.server_path, step.server_hash, step.rev)
        note = current.get(step.note_id)
        if step.step == "pull" or note is None or note.deleted or note.rev <= step.rev:
            continue
        if (note.path, note.hash) == (step.path, step.hash):
            states[step.note_id] = NoteBase(
                note.path, note.hash, note.rev, conflict_of=note.conflict_of
            )
    return states


def _has(link: VaultLink, step: PlannedStep) -> bool:
    try:
        return link.files.hash(step.path) == step.hash
    except (DjinnError, OSError):
        return False


def _common_rev(link: VaultLink) -> int | None:
    """The newest revision in common with a server that was restored; None if it was not."""
    seen = sync_state.seen(link.ledger, link.scope)
    if not seen:
        return None
    with link.reading() as cursor:
        marks = server_notes.marks(cursor, link.scope, list(seen))
    common = max((rev for rev in seen if marks.get(rev) == seen[rev]), default=0)
    return common if common < max(seen) else None
