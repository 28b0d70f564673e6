"""Fills what rows on a server lack, with what this home has."""

from __future__ import annotations

from djinn_memory.indexing.refresh import index
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres.servers import connected
from djinn_memory.sync.filling import fill
from djinn_memory.sync.notes.vectors import require_embedder, require_model
from djinn_memory.sync.requests import Backfilled, BackfillSync
from djinn_memory.sync.session import linked, locked


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
    return Backfilled(filled, left, tuple(report.problems))
