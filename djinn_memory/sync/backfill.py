"""Fills what rows on a server lack, with what this home has."""

from __future__ import annotations

from djinn_memory.errors import Remedy, Unavailable
from djinn_memory.indexing.refresh import index
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres.servers import ServerConnection, connected
from djinn_memory.sync.filling import fill
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
            link = linked(runtime, server, vault)
            done, skipped = fill(link, "everything" if request.all else "vectors", request.batch)
            filled, left = filled + done, left + skipped
    return Backfilled(filled, left, tuple(report.problems))


def _check_model(server: ServerConnection, own: str) -> None:
    if own != server.state.model.identity:
        raise Unavailable(
            f"this home embeds with {own}, and {server.address} has vectors of "
            f"{server.state.model.identity}",
            Remedy("sync.migrate", {"model": True}, "change the server to this model"),
        )
