"""Writes the rows that follow from notes on the server: vectors, search index, links, tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from msgspec.structs import replace

from djinn_memory.errors import DjinnError, Refused, Remedy, Unavailable
from djinn_memory.indexing.refresh import index, resolve_pending_links
from djinn_memory.models import Calibration, Problem, Progress, Vault
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.export import export_links, export_notes, link_ends
from djinn_memory.store.index import compartments, vectors
from djinn_memory.store.postgres import note_tables
from djinn_memory.store.postgres.index import postgres_vectors
from djinn_memory.store.postgres.index import writer as index_writer
from djinn_memory.store.postgres.index.writer import MANY_NOTES, update_statistics
from djinn_memory.store.postgres.note_tables import LostName, NoteRow
from djinn_memory.store.postgres.notes import ServerChange, ServerNote, states
from djinn_memory.store.sqlite import explained
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.names import path_key
from djinn_memory.sync.notes.source_memory import PushedNote

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.runtime import Runtime
    from djinn_memory.store.postgres.connection import Cursor, ScopeWriter
    from djinn_memory.store.postgres.servers import ServerConnection


def write(
    link: VaultLink,
    writer: ScopeWriter,
    changes: Sequence[ServerChange],
    accepted: Collection[UUID],
) -> None:
    """Replace the rows that follow from the notes of accepted changes.

    Of a note that the index does not have in this version, nothing follows yet: it stays pending.
    So do other notes that a row of their name waits for, unless they can be written at once.
    """
    changed = [change for change in changes if change.note_id in accepted]
    notes = indexed(link, changed)
    ids = [change.note_id for change in changed]
    without = set(ids) - {note.note_id for note in notes}
    before = index_writer.indexed_paths(writer.tx, link.scope, "note_id", ids)
    waiting = note_tables.remove(writer.tx, link.scope, ids)
    index_writer.remove(writer.tx, link.scope, list(without))
    rows_by_note = [(note.note_id, note.rows) for note in notes]
    index_writer.replace(writer.tx, link.scope, writer.rev, rows_by_note)
    linked = {rows.path for _, rows in rows_by_note}
    _update_links(link, writer, before | {change.path for change in changed}, linked)
    current = states(writer.tx, link.scope, list(waiting))
    notes += indexed(link, unchanged(link, current.values()))
    replace_rows(writer.tx, link.scope, writer.rev, link.vault, notes, link.runtime.now())
    live = {change.note_id for change in changed if change.content is not None} | waiting
    written = {note.note_id for note in notes}
    note_tables.mark_pending(writer.tx, link.scope, written, live - written)


def indexed(link: VaultLink, changes: Iterable[ServerChange]) -> list[PushedNote]:
    """The notes of changes with their index entries, if the index has the same version."""
    by_path = {change.path: change for change in changes if change.content is not None}
    paths = {link.indexed.get(path, path): path for path in by_path}
    notes = []
    for rows in export_notes(link.runtime.state, link.vault, list(paths)) if paths else ():
        change = by_path[paths[rows.path]]
        if rows.hash == change.hash and change.content is not None:
            own = replace(rows, path=change.path)
            notes.append(PushedNote(change.note_id, change.content, own))
    return notes


def unchanged(link: VaultLink, notes: Iterable[ServerNote]) -> Iterator[ServerChange]:
    """The notes of the server that this home has in the same version, with their bytes."""
    for note in notes:
        data = None
        with suppress(OSError, DjinnError):
            data = None if note.deleted else link.files.read(note.path)
        if data is not None and content_hash(data) == note.hash:
            yield ServerChange(note.note_id, note.path, path_key(note.path), note.hash, data, 0)


def _update_links(
    link: VaultLink, writer: ScopeWriter, paths: Collection[str], linked: Collection[str]
) -> None:
    """Write the links of other notes that lead elsewhere now than the server has them.

    `paths` are those of the changed notes, before and after; the links of `linked` are up to date.
    """
    state, listed = link.runtime.state, [*paths]
    here = link_ends(state, link.vault, listed)
    there = index_writer.link_ends(writer.tx, link.scope, listed)
    differing = {end.source for end in here ^ there}.difference(linked)
    if sources := index_writer.indexed_paths(writer.tx, link.scope, "path", differing):
        links = export_links(state, link.vault, [*sources])
        index_writer.replace_links(writer.tx, link.scope, links)


def follow_links(link: VaultLink, paths: Collection[str], unsent: Collection[str]) -> None:
    """Write the links that lead elsewhere since other homes wrote notes at these paths.

    The other homes may have lacked the notes with the links. `unsent` are the notes that differ.
    """
    listed = [*paths]
    resolve_pending_links(link.runtime.state)
    here = link_ends(link.runtime.state, link.vault, listed)
    with link.server.reading() as tx:
        there = index_writer.link_ends(tx, link.scope, listed)
    if {end.source for end in here ^ there}.difference(unsent):
        with link.writing() as writer:
            _update_links(link, writer, paths, unsent)


def finish_load(link: VaultLink, notes: int) -> None:
    """Let searches be fast after a load of so many notes."""
    with link.server.transaction() as tx:
        build_vector_index(link.runtime, tx, link.scope)
    if notes >= MANY_NOTES:
        with link.server.transaction() as tx:
            update_statistics(tx)


_BATCH = 500
"""Number of notes whose vectors are fetched at once."""


def check_model(link: VaultLink) -> None:
    """Raise `Refused` if this home and the server have vectors of different models."""
    with explained(link.runtime.home.index_path):
        space = vectors.serving(link.runtime.state.index)
    if space:
        require_model(link.server, space.identity)


def require_model(server: ServerConnection, own: str) -> None:
    """Raise `Refused` if a server's vectors come from another model than those of this home."""
    theirs = server.state.model.identity
    if own != theirs:
        raise Refused(
            f"{server.address} has vectors of the model {theirs}, and this home uses {own}",
            Remedy("config.set", {"key": "embedding.model", "value": None}, "use the server's"),
            Remedy("sync.migrate", {"change_model": True}, "change the server"),
        )


def require_embedder(runtime: Runtime) -> Embedder:
    """The embedding model of this home. Raises `Unavailable` without one."""
    embedder = runtime.models.embedder
    if embedder is None:
        raise Unavailable(
            "this home has no embedding model",
            Remedy("config.set", {"key": "embedding.provider", "value": None}, "set one"),
        )
    return embedder


def fetch_vectors(link: VaultLink, note_ids: Collection[UUID]) -> None:
    """Store the server's vectors of notes in the home's cache, where indexing finds them."""
    embedder = link.runtime.models.embedder
    if not note_ids or embedder is None or embedder.identity != link.server.state.model.identity:
        return
    cache, model, ids = link.runtime.state.cache, link.server.state.model, list(note_ids)
    with explained(link.runtime.home.embeddings_path):
        if cache.known(model.identity) is None:
            # With this, an index gets its vectors without a use of the model.
            line = Calibration(model.scale, model.shift)
            cache.know(model.identity, model.dimensions, line)
        for start in range(0, len(ids), _BATCH):
            with link.server.reading() as cursor:
                texts, signs = postgres_vectors.vectors_of(
                    cursor, link.scope, ids[start : start + _BATCH]
                )
            if texts:
                cache.put(model.identity, texts, signs)


def embed_notes(link: VaultLink) -> None:
    """Index the vault, and embed the texts that neither the cache nor the server had.

    Without the model the notes travel without vectors, which is reported as a problem.
    """
    runtime, vault = link.runtime, link.vault
    with explained(runtime.home.index_path):
        numbers = compartments.numbers(runtime.state.index, [vault])
        waiting = vectors.pending(runtime.state.index, numbers)
    if not waiting or runtime.models.embedder is None:
        return
    try:
        index(
            runtime.state, runtime.models, [vault], whole=False, rebuild=False,
            progress=runtime.progress,
        )  # fmt: skip
    except Unavailable as error:
        link.add(Problem("embedding", str(error)))


def build_vector_index(runtime: Runtime, tx: Cursor, scope: UUID) -> None:
    """Build the HNSW index of a scope, if it has enough vectors and no index."""
    if postgres_vectors.needs_vector_index(tx, scope):
        runtime.progress(Progress("wait", 0, None, "building an index of the vectors"))
        postgres_vectors.index_vectors(tx, scope)


def replace_rows(
    tx: Cursor, scope: UUID, rev: int, vault: Vault, notes: Sequence[PushedNote], at: datetime
) -> None:
    """Write the rows of notes instead of those that the server has, in the caller's transaction.

    A name that two notes give, such as the id of a copied note, belongs to one of them; see
    `store.postgres.note_tables`. Of two new notes with one id the older has it, as in
    the local index. The other memory is named by its place.
    """
    from djinn_memory.sync.notes.table_rows import table_rows

    note_tables.remove(tx, scope, [note.note_id for note in notes])
    ids = [
        uuid5(scope, memory.uid) for note in notes for memory in note.rows.memories if memory.uid
    ]
    taken = note_tables.taken(tx, scope, ids)
    rows, lost = list[NoteRow](), list[LostName]()
    for note in sorted(notes, key=_age):
        projected = table_rows(scope, vault, note, at, taken)
        uids = [memory.uid for memory in note.rows.memories if memory.uid]
        lost += [LostName("id", uid, note.note_id) for uid in uids if uuid5(scope, uid) in taken]
        taken |= {values[table.key] for table, values in projected if table.key}
        rows += projected
    note_tables.insert(tx, scope, rev, rows, lost)


def _age(note: PushedNote) -> tuple[str, int, str]:
    created = min((memory.created or "z" for memory in note.rows.memories), default="z")
    return created, note.rows.modified_ns, note.rows.path
