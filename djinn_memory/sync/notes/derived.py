"""Writes what follows from notes on the server, in the transaction that writes the notes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.indexing.refresh import resolve_pending_links
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.export import export_links, export_notes, link_ends
from djinn_memory.store.postgres.index import link_writer
from djinn_memory.store.postgres.index import writer as index_writer
from djinn_memory.store.postgres.index.writer import MANY_NOTES, update_statistics
from djinn_memory.store.postgres.notes import ServerChange, ServerNote, states
from djinn_memory.store.postgres.projections import note_tables
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.names import path_key
from djinn_memory.sync.notes.vectors import build_vector_index
from djinn_memory.sync.projections import pushed_notes
from djinn_memory.sync.projections.pushed_notes import PushedNote

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import ScopeWriter


def write(
    link: VaultLink,
    writer: ScopeWriter,
    changes: Sequence[ServerChange],
    accepted: Collection[UUID],
) -> None:
    """Replace what follows from the notes of accepted changes.

    Of a note that the index does not have in this version, nothing follows yet: it stays pending.
    So do other notes that a row of their name waits for, unless they can be written at once.
    """
    changed = [change for change in changes if change.note_id in accepted]
    notes = indexed(link, changed)
    ids = [change.note_id for change in changed]
    without = set(ids) - {note.note_id for note in notes}
    before = link_writer.paths_of(writer.tx, link.scope, ids)
    waiting = note_tables.remove(writer.tx, link.scope, ids)
    index_writer.remove(writer.tx, link.scope, list(without))
    rows_by_note = [(note.note_id, note.rows) for note in notes]
    index_writer.replace(writer.tx, link.scope, writer.rev, rows_by_note)
    linked = {rows.path for _, rows in rows_by_note}
    _update_links(link, writer, before | {change.path for change in changed}, linked)
    again = indexed(link, _unchanged(link, states(writer.tx, link.scope, list(waiting))))
    notes += again
    pushed_notes.replace(writer.tx, link.scope, writer.rev, link.vault, notes, link.runtime.now())
    live = {change.note_id for change in changed if change.content is not None} | waiting
    written = {note.note_id for note in notes}
    note_tables.mark_pending(writer.tx, link.scope, written, live - written)


def indexed(link: VaultLink, changes: Sequence[ServerChange]) -> list[PushedNote]:
    """The notes of changes with what the index has of them, if it has the same version."""
    by_path = {change.path: change for change in changes if change.content is not None}
    paths = {link.indexed.get(path, path): path for path in by_path}
    notes = []
    for rows in export_notes(link.runtime.state, link.vault, list(paths)) if paths else ():
        change = by_path[paths[rows.path]]
        if rows.hash == change.hash and change.content is not None:
            own = replace(rows, path=change.path)
            notes.append(PushedNote(change.note_id, change.content, own))
    return notes


def _unchanged(link: VaultLink, notes: Mapping[UUID, ServerNote]) -> list[ServerChange]:
    return [change for note in notes.values() if (change := unchanged(link, note))]


def unchanged(link: VaultLink, note: ServerNote) -> ServerChange | None:
    """A note of the server with its bytes; None if this home has not the server's version."""
    if note.deleted:
        return None
    with suppress(OSError, DjinnError):
        data = link.files.read(note.path)
        if data is not None and content_hash(data) == note.hash:
            return ServerChange(note.note_id, note.path, path_key(note.path), note.hash, data, 0)
    return None


def _update_links(
    link: VaultLink, writer: ScopeWriter, paths: Collection[str], linked: Collection[str]
) -> None:
    """Write the links of other notes that lead elsewhere now than the server has them.

    `paths` are those of the changed notes, before and after; the links of `linked` are up to date.
    """
    state, listed = link.runtime.state, [*paths]
    here = link_ends(state, link.vault, listed)
    there = link_writer.ends(writer.tx, link.scope, listed)
    differing = {end.source for end in here ^ there}.difference(linked)
    if sources := link_writer.indexed(writer.tx, link.scope, differing):
        link_writer.replace(writer.tx, link.scope, export_links(state, link.vault, [*sources]))


def follow_links(link: VaultLink, paths: Collection[str], unsent: Collection[str]) -> None:
    """Write the links that lead elsewhere since other homes wrote notes at these paths.

    Those homes may not have had the notes with the links. `unsent` are the notes that differ here.
    """
    listed = [*paths]
    resolve_pending_links(link.runtime.state)
    here = link_ends(link.runtime.state, link.vault, listed)
    with link.reading() as tx:
        there = link_writer.ends(tx, link.scope, listed)
    if {end.source for end in here ^ there}.difference(unsent):
        with link.writing() as writer:
            _update_links(link, writer, paths, unsent)


def finish_load(link: VaultLink, notes: int) -> None:
    """Let searches be fast after a load of so many notes."""
    with link.transaction() as tx:
        build_vector_index(link.runtime, tx, link.scope)
    if notes >= MANY_NOTES:
        with link.transaction() as tx:
            update_statistics(tx)
