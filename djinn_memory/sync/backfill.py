"""Fills what rows on a server lack, with what this home has."""

from __future__ import annotations

from djinn_memory.indexing.refresh import index
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import sync_events
from djinn_memory.store.ledger.sync_events import EventCursor
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres.index import segments
from djinn_memory.store.postgres.projections import event_tables, note_tables, tables
from djinn_memory.store.postgres.servers import connected
from djinn_memory.sync import events
from djinn_memory.sync.filling import fill, restore_bytes
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.vectors import require_embedder, require_model
from djinn_memory.sync.requests import Backfilled, BackfillSync
from djinn_memory.sync.session import linked, locked
from djinn_memory.sync.verification import (
    events_on_server,
    expected_events,
)


def backfill(runtime: Runtime, request: BackfillSync) -> Backfilled:
    """Embed what this home has not embedded, and fill what its vaults lack on the server.

    Each batch of notes is a transaction. Raises `Unavailable` without an embedding model, and
    `Refused` if the server has vectors of another one.
    """
    embedder = require_embedder(runtime)
    filled, left = 0, 0
    with locked(runtime.home), connected(runtime.home) as server:
        vaults = runtime.home.synced
        require_model(server.address, server.state.model.identity, embedder.identity)
        report = index(
            runtime.state, runtime.models, vaults,
            whole=False, rebuild=False, progress=runtime.progress,
        )  # fmt: skip
        for vault in vaults:
            link = linked(runtime, server, vault)
            done, skipped = fill(link, "everything" if request.all else "vectors", request.batch)
            filled, left = filled + done, left + skipped
            if request.all:
                restore_bytes(link)
                _restore_events(link)
    return Backfilled(filled, left, tuple(report.problems))


def _restore_events(link: VaultLink) -> None:
    """Write what `verify` finds different in events and the tables that follow from them.

    The next run exchanges all events again: those that either side lacks may have to wait for it,
    because they quote what another home purged.
    """
    with link.reading() as tx:
        mine = events.computes_correlations(tx, link)
    known = events.correlations(link)
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
        if mine:
            tables.replace_rows(writer.tx, link.scope, writer.rev, tables.CORRELATIONS, known)
    sync_events.move(link.ledger, link.scope, EventCursor())
