"""Gives notes their vectors, from the server or from the home's model, and indexes the server's."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.errors import Refused, Remedy, Unavailable
from djinn_memory.indexing.refresh import index
from djinn_memory.models import Calibration, Problem, Progress
from djinn_memory.store.index import compartments, vectors
from djinn_memory.store.postgres import note_vectors
from djinn_memory.store.postgres.index.writer import index_vectors, needs_vector_index
from djinn_memory.store.sqlite import explained
from djinn_memory.sync.notes.link import VaultLink

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.runtime import Runtime
    from djinn_memory.store.postgres.connection import Cursor, ServerAddress

BATCH = 500
"""Number of notes whose vectors are fetched at once."""


def check_model(link: VaultLink) -> None:
    """Raise `Refused` if this home and the server have vectors of different models."""
    with explained(link.runtime.home.index_path):
        space = vectors.serving(link.runtime.state.index)
    if space:
        require_model(link.address, link.model.identity, space.identity)


def require_model(address: ServerAddress, theirs: str, own: str) -> None:
    """Raise `Refused` if a server's vectors come from another model than those of this home."""
    if own != theirs:
        raise Refused(
            f"{address} has vectors of the model {theirs}, and this home uses {own}",
            Remedy("config.set", {"key": "embedding.model", "value": None}, "use the server's"),
            Remedy("sync.migrate", {"model": True}, "change the server"),
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


def fetch(link: VaultLink, note_ids: Collection[UUID]) -> None:
    """Store the server's vectors of notes in the home's cache, where indexing finds them."""
    embedder = link.runtime.models.embedder
    if not note_ids or embedder is None or embedder.identity != link.model.identity:
        return
    cache, model, ids = link.runtime.state.cache, link.model, list(note_ids)
    with explained(link.runtime.home.embeddings_path):
        if cache.known(model.identity) is None:
            # With this, an index gets its vectors without a use of the model.
            line = Calibration(model.scale, model.shift)
            cache.know(model.identity, model.dimensions, line)
        for start in range(0, len(ids), BATCH):
            with link.reading() as cursor:
                texts, signs = note_vectors.read(cursor, link.scope, ids[start : start + BATCH])
            if texts:
                cache.put(model.identity, texts, signs)


def embed(link: VaultLink) -> None:
    """Index the vault, and embed what neither the cache nor the server had.

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
    if needs_vector_index(tx, scope):
        runtime.progress(Progress("wait", 0, None, "building an index of the vectors"))
        index_vectors(tx, scope)
