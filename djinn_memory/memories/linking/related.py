"""Finds memories that are near in meaning to a memory and not linked with it."""

from __future__ import annotations

from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import Remedy
from djinn_memory.indexing.refresh import embed_waiting
from djinn_memory.memories.catalog.catalog import find
from djinn_memory.memories.contradictions.finder import vectors_of
from djinn_memory.memories.linking.requests import FindRelated, RelatedMemories, RelatedMemory
from djinn_memory.memories.writing.provenance import LEARNINGS_RULE, UNKNOWN
from djinn_memory.models import Memory, Problem, Vectors, extended
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection

BEGINNING = 20
"""Number of chunks of a memory that are compared."""

SPARE = 3
"""How many times more windows than memories are looked at: some belong to linked memories."""


def related(runtime: Runtime, request: FindRelated) -> RelatedMemories:
    """Find related memories; see `Memories.related`."""
    vaults = runtime.fresh_scope(request.agent)
    with runtime.index(vaults) as index:
        memory = find(index, request.name)
        if index.vectors.space is None or _vector(index, memory) is not None:
            return _related(runtime, index, memory, request.limit)

    def spare() -> Embedder | None:
        embedder = runtime.models.embedder
        return embedder if embedder and embedder.local and embedder.ready else None

    # The note is new: its windows wait for a process with a model.
    embed_waiting(runtime.state, vaults, spare)
    with runtime.index(vaults) as index:
        return _related(runtime, index, find(index, request.name), request.limit)


def _related(runtime: Runtime, index: Index, memory: IndexedMemory, limit: int) -> RelatedMemories:
    named, space = extended(memory, Memory), index.vectors.space
    vector = _vector(index, memory)
    if space is None or vector is None:
        what = "no note is" if space is None else f"{memory.title!r} is not"
        why = f"{what} embedded yet, so nothing is known to be near; {Remedy('index')}"
        return RelatedMemories(named, (), (Problem("embedding", why),))
    linked = {memory.memory_id}
    for link in index.links([memory.memory_id]):
        linked |= {link.source, link.target or link.source}
    wanted = limit + len(linked)
    selection = Selection(now=runtime.now())
    refs = index.vectors.nearest(vector, selection, SPARE * wanted, wanted)
    memory_of = {ref.chunk_id: ref.memory_id for ref in refs if ref.memory_id not in linked}
    line = space.calibration
    best: dict[int, float] = {}
    for chunk, measured in index.vectors.measure(vector, memory_of).items():
        value = line.scale * measured.cosine + line.shift
        best[memory_of[chunk]] = max(value, best.get(memory_of[chunk], value))
    known = index.lookup(best, fields=("status", "rule"))
    near = sorted((-best[key], each.address, each) for key, each in known.items() if _counts(each))
    listed = (extended(each, RelatedMemory, similarity=round(-value, 4)) for value, _, each in near)
    return RelatedMemories(named, tuple(listed)[:limit])


def _vector(index: Index, memory: IndexedMemory) -> Vectors | None:
    """The mean of the vectors of a memory's first chunks, of length 1; None if it has none."""
    import numpy as np

    chunks = index.chunks_of([memory.memory_id], BEGINNING).get(memory.memory_id, ())
    vectors = vectors_of(index, [chunk.chunk_id for chunk in chunks])
    if not vectors:
        return None
    mean = np.mean([*vectors.values()], axis=0)
    unit: Vectors = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
    return unit


def _counts(memory: IndexedMemory) -> bool:
    """Whether a memory is one of its own: no earlier version, proposal or copy."""
    known = fold(memory.field("status") or "") not in UNKNOWN
    return known and memory.field("rule") != LEARNINGS_RULE
