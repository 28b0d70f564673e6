"""Reads what the tables of a server hold: counts, and facts that answer a question."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.errors import DjinnError, Remedy, UsageError
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres.projections import facts, stats
from djinn_memory.store.postgres.scopes import scopes as known_scopes
from djinn_memory.store.postgres.servers import ServerConnection
from djinn_memory.sync.requests import (
    SearchServerFacts,
    ServerFacts,
    ShowSyncStats,
    SyncStats,
)

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


def count_rows(runtime: Runtime, server: ServerConnection, request: ShowSyncStats) -> SyncStats:
    """See `Sync.stats`."""
    scopes = _scopes(runtime, everything=request.all)
    with server.reading() as tx:
        return SyncStats(
            _notes(tx, scopes),
            stats.kind_counts(tx, scopes),
            stats.document_counts(tx, scopes),
            *stats.consolidation_counts(tx, scopes),
        )


def _notes(tx: Cursor, scopes: list[UUID] | None) -> int:
    """The notes of all scopes that the user may read, or of the given ones."""
    return sum(
        scope.notes for scope in known_scopes(tx) if scopes is None or scope.user_id in scopes
    )


def search_facts(
    runtime: Runtime, server: ServerConnection, request: SearchServerFacts
) -> ServerFacts:
    """See `Sync.facts`."""
    if not request.query.strip():
        example = Remedy("sync.facts", {"query": "where she lives"}, "see an example")
        raise UsageError("the query is empty", example)
    problems: list[Problem] = []
    vector = None
    embedder = runtime.models.embedder
    if embedder is not None and embedder.identity == server.state.model.identity:
        try:
            [vector] = embedder.embed([request.query], query=True)
        except DjinnError as error:
            problems.append(Problem("embedding", f"{error}; facts are compared by text only"))
    else:
        why = f"the server has vectors of {server.state.model.identity}, which this home lacks"
        problems.append(Problem("embedding", f"{why}; facts are compared by text only"))
    with server.reading() as tx:
        scopes = _scopes(runtime, everything=request.all)
        answers = facts.search(tx, request.query, vector, runtime.now(), scopes, request.limit)
    return ServerFacts(answers, problems)


def _scopes(runtime: Runtime, *, everything: bool) -> list[UUID] | None:
    """The scopes of this home's vaults, or None for all that the user of the server may read."""
    return None if everything else [UUID(vault.id) for vault in runtime.home.synced]
