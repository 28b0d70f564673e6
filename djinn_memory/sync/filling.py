"""Writes notes, events and what follows from them again, where the server lacks it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from djinn_memory.models import Progress
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.ledger import sync_state
from djinn_memory.store.ledger.sync_state import EventCursor
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.connection import writing
from djinn_memory.store.postgres.index import segments
from djinn_memory.store.postgres.notes import ServerChange
from djinn_memory.store.postgres.projections import event_tables, note_tables, tables
from djinn_memory.store.postgres.projections.note_tables import Lacking
from djinn_memory.sync import events
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.verification import events_on_server, expected_events

BATCH = 500
"""Number of notes in a transaction of a run."""


def fill(link: VaultLink, lacking: Lacking, batch: int = BATCH) -> tuple[int, int]:
    """Write what follows from notes again, for those that lack something on the server.

    Returns how many notes are complete now, and how many this home could not complete.
    """
    with link.reading() as tx:
        waiting = note_tables.waiting_notes(tx, link.scope, lacking)
    ids = sorted(waiting)
    left = 0
    for start in range(0, len(ids), batch):
        page = ids[start : start + batch]
        with link.reading() as tx:
            notes = server_notes.states(tx, link.scope, page)
        changes = [change for note in notes.values() if (change := derived.unchanged(link, note))]
        written = {note.note_id for note in derived.indexed(link, changes)}
        if written:
            written = _write(link, changes, written, lacking)
        left += len(page) - len(written)
        done = start + len(page)
        link.runtime.progress(Progress("push", done, len(ids), link.vault.name))
    if ids:
        derived.finish_load(link, len(ids))
    return len(ids) - left, left


def restore(link: VaultLink) -> None:
    """Write again what `verify` finds damaged or different in files and events."""
    _restore_bytes(link)
    _restore_events(link)


def _restore_bytes(link: VaultLink) -> None:
    """Write the bytes of notes and attachments again that are damaged on the server.

    Those that this home has in another version stay as they are.
    """
    with link.reading() as tx:
        notes = server_notes.changed(tx, link.scope, -1)
        damaged = {note.note_id: note for note in notes if not note.deleted}
        for note_id, data in server_notes.contents(tx, link.scope, [*damaged.values()]):
            if content_hash(data) == damaged[note_id].hash:
                del damaged[note_id]
    for note in damaged.values():
        change = derived.unchanged(link, note)
        if change and change.content is not None:
            with link.transaction() as tx:
                server_notes.restore(tx, link.scope, note, change.content)


def _restore_events(link: VaultLink) -> None:
    """Write what `verify` finds different in events and the tables that follow from them.

    The next run exchanges all events again: those that either side lacks may have to wait for it,
    because they quote what another home purged.
    """
    with link.reading() as tx:
        correlations = events.own_correlations(tx, link)
    with link.writing() as writer:
        sent = filter(events.is_exchangeable, events_on_server(writer.tx, link))
        listed = {stored.id: stored for stored in sent}
        changed = [event for event, _ in expected_events(link, listed.values())]
        server_events.write(writer, link.home_id, changed)
        listed |= {stored.id: stored for stored in changed}
        scoring = link.runtime.home.config.scoring
        event_tables.rebuild(writer, [*listed.values()], scoring)
        note_tables.resolve_relations(writer.tx, link.scope)
        segments.recount(writer.tx, link.scope)
        if correlations is not None:
            table, rev = tables.CORRELATIONS, writer.rev
            tables.replace_rows(writer.tx, link.scope, rev, table, correlations)
    sync_state.move_event_cursor(link.ledger, link.scope, EventCursor())


def _write(
    link: VaultLink, changes: Sequence[ServerChange], indexed: set[UUID], lacking: Lacking
) -> set[UUID]:
    """Write what follows from notes. Returns those that lack nothing now."""
    with writing(link.connection, link.address, link.scope) as writer:
        # Another home may have pushed, filled or deleted a note since.
        states = server_notes.states(writer.tx, link.scope, [*indexed])
        same = {
            change.note_id
            for change in changes
            if (note := states.get(change.note_id)) and note.hash == change.hash
        }
        lack = note_tables.waiting_notes(writer.tx, link.scope, lacking, [*same])
        derived.write(link, writer, changes, lack)
        if lacking == "everything":
            return same
        return same - note_tables.waiting_notes(writer.tx, link.scope, lacking, [*same])
