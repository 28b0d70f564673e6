"""Writes what follows from notes on the server, in the transaction that writes the notes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec.structs import replace

from djinn_memory.models import Progress
from djinn_memory.store.export import export_links, export_notes, linking_paths
from djinn_memory.store.postgres.connection import explained
from djinn_memory.store.postgres.index import link_writer
from djinn_memory.store.postgres.index import writer as index_writer
from djinn_memory.store.postgres.notes import ServerChange
from djinn_memory.store.postgres.seeds import projections as stored
from djinn_memory.sync import projections
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.projections import PushedNote

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import ScopeWriter


def write(
    link: VaultLink,
    writer: ScopeWriter,
    changes: Sequence[ServerChange],
    accepted: Collection[UUID],
) -> None:
    """Replace what follows from the notes of accepted changes.

    The index must be up to date. Of a note that it does not have, nothing follows.
    """
    changed = [change for change in changes if change.note_id in accepted]
    paths = {
        link.indexed.get(change.path, change.path): change.path
        for change in changed
        if change.content is not None
    }
    exported = export_notes(link.runtime.state, link.vault, list(paths))
    indexed = {paths[rows.path]: replace(rows, path=paths[rows.path]) for rows in exported}
    notes, gone = [], []
    for change in changed:
        rows = indexed.get(change.path)
        if change.content is not None and rows and rows.hash == change.hash:
            notes.append(PushedNote(change.note_id, change.content, rows))
        else:
            gone.append(change.note_id)
    if gone:
        stored.remove(writer.tx, link.scope, gone)
        index_writer.remove(writer.tx, link.scope, gone)
    rows_by_note = [(note.note_id, note.rows) for note in notes]
    index_writer.replace(writer.tx, link.scope, writer.rev, rows_by_note)
    now = link.runtime.now()
    projections.replace(writer.tx, link.scope, writer.rev, link.vault, notes, now)


def finish(link: VaultLink, pushed: Collection[str]) -> None:
    """Bring up to date what notes at other paths than the `pushed` ones have on the server.

    Their links may lead elsewhere by now. After the load with which vectors have become many, their
    index is made.
    """
    state, paths = link.runtime.state, list(pushed)
    with explained(link.address), link.connection.transaction(), link.connection.cursor() as tx:
        sources = link_writer.linking_paths(tx, link.scope, paths)
        sources |= linking_paths(state, link.vault, paths)
        if others := sources - set(paths):
            link_writer.replace(tx, link.scope, export_links(state, link.vault, list(others)))
    with explained(link.address), link.connection.transaction(), link.connection.cursor() as tx:
        if index_writer.needs_vector_index(tx, link.scope):
            link.runtime.progress(Progress("wait", 0, None, "an index of the vectors is made"))
            index_writer.index_vectors(tx, link.scope)
