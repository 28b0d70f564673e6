"""Fills the vectors that rows on a server lack, with those of this home."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from djinn_memory.errors import DjinnError, Remedy, Unavailable
from djinn_memory.indexing.refresh import index
from djinn_memory.models import Progress
from djinn_memory.notes.note_file import content_hash
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.connection import reading, writing
from djinn_memory.store.postgres.notes import ServerChange
from djinn_memory.store.postgres.seeds import stats
from djinn_memory.store.postgres.seeds.stats import WaitingNote
from djinn_memory.store.postgres.servers import ServerConnection, connected
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.names import path_key
from djinn_memory.sync.requests import Backfilled, BackfillSync
from djinn_memory.sync.session import linked, locked


def backfill(runtime: Runtime, request: BackfillSync) -> Backfilled:
    """Embed what this home has not embedded, and fill what its vaults lack on the server.

    Each batch of notes is a transaction. Raises `Unavailable` without an embedding model, or if its
    vectors would be of another model than those on the server.
    """
    embedder = runtime.models.embedder
    if embedder is None:
        remedy = Remedy("config.set", {"key": "embedding.provider", "value": None}, "set a model")
        raise Unavailable("this home has no embedding model", remedy)
    vaults = runtime.home.synced
    filled, left = 0, 0
    with locked(runtime), connected(runtime.home) as server:
        _check_model(server, embedder.identity)
        report = index(
            runtime.state, runtime.models, vaults,
            whole=False, rebuild=False, progress=runtime.progress,
        )  # fmt: skip
        for vault in vaults:
            done, skipped = _fill(linked(runtime, server, vault), request.batch)
            filled, left = filled + done, left + skipped
    return Backfilled(filled, left, tuple(report.problems))


def _check_model(server: ServerConnection, own: str) -> None:
    if own != server.state.model.identity:
        raise Unavailable(
            f"this home embeds with {own}, and {server.address} has vectors of "
            f"{server.state.model.identity}",
            Remedy("sync.migrate", {"model": True}, "change the server to this model"),
        )


def _fill(link: VaultLink, batch: int) -> tuple[int, int]:
    """Fill the rows of a vault. Returns how many notes were filled, and how many could not be."""
    filled, left, after = 0, 0, UUID(int=0)
    while True:
        with reading(link.connection, link.address) as tx:
            waiting = stats.waiting_notes(tx, link.scope, after, batch)
        if not waiting:
            return filled, left
        changes = [change for note in waiting if (change := _change(link, note))]
        if changes:
            with writing(link.connection, link.address, link.scope) as writer:
                # Another home may have pushed a note since.
                known = server_notes.states(writer.tx, link.scope, [c.note_id for c in changes])
                same = [c.note_id for c in changes if known[c.note_id].hash == c.hash]
                derived.write(link, writer, changes, same)
        with reading(link.connection, link.address) as tx:
            still = stats.waiting_notes(tx, link.scope, after, batch)
        after = waiting[-1].note_id
        left += sum(note.note_id <= after for note in still)
        filled += len(waiting) - sum(note.note_id <= after for note in still)
        link.runtime.progress(Progress("push", filled + left, None, link.vault.name))


def _change(link: VaultLink, note: WaitingNote) -> ServerChange | None:
    """A note whose rows are written anew; None if this home has not the server's version."""
    with suppress(OSError, DjinnError):
        data = link.files.read(note.path)
        if data is not None and content_hash(data) == note.hash:
            return ServerChange(note.note_id, note.path, path_key(note.path), note.hash, data, 0)
    return None
