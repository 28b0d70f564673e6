"""Stand-ins: what is shown of a memory where the chunk that answers is only links or footnotes."""

from __future__ import annotations

from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.filler import cited, footnotes, is_filler
from djinn_memory.store.index.records import IndexedChunk


def shown_chunk(search: Search, candidate: Candidate) -> int:
    """The chunk to show for a candidate: its own, unless that says nothing and another one does.

    For footnotes that is the chunk that cites most of them, else the best of the memory, then the
    nearest. Who asks for a phrase gets the chunk that holds it.
    """
    own = search.chunk(candidate.chunk_id)
    if search.query.phrases or not is_filler(own.text):
        return candidate.chunk_id
    siblings = search.index.chunks_of([candidate.memory_id])[candidate.memory_id]
    telling = [chunk for chunk in siblings if not is_filler(chunk.text)]
    labels = footnotes(own.text)
    scores = {each.chunk_id: each.score for each in search.candidates}

    def rank(chunk: IndexedChunk) -> tuple[int, float, int]:
        cites = len(labels & cited(chunk.text))
        return -cites, -scores.get(chunk.chunk_id, 0.0), abs(chunk.ordinal - own.ordinal)

    return min(telling, key=rank, default=own).chunk_id
