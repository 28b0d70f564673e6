"""Chooses the chunk to show for a memory when the matching chunk is only links or footnotes."""

from __future__ import annotations

from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.filler import cited, footnotes, is_filler
from djinn_memory.search.stages.names import NAME
from djinn_memory.store.index.records import IndexedChunk, IndexedMemory

STUB_TITLE = 2
"""Maximum words of a title that is only a name. A longer title may be the whole content."""


def shown_chunk(search: Search, candidate: Candidate) -> int:
    """The chunk to show for a candidate: its own, unless it is filler and another chunk is not.

    For footnotes it is the chunk that cites most of them, else the memory's best chunk, else the
    nearest. A query with a phrase shows the chunk that contains it.
    """
    own = search.chunk(candidate.chunk_id)
    if search.query.phrases or not is_filler(own.text):
        return candidate.chunk_id
    labels = footnotes(own.text)
    scores = {each.chunk_id: each.score for each in search.candidates}

    def rank(chunk: IndexedChunk) -> tuple[int, float, int]:
        cites = len(labels & cited(chunk.text))
        return -cites, -scores.get(chunk.chunk_id, 0.0), abs(chunk.ordinal - own.ordinal)

    return min(search.telling(candidate.memory_id), key=rank, default=own).chunk_id


def near_stub(search: Search, candidate: Candidate, shown: int, memory: IndexedMemory) -> bool:
    """Whether a candidate has no content and was found only by meaning, such as the stub of a tag.

    Such a candidate is shown only if there are no others. A search by meaning alone shows all.
    """
    near = candidate.scores and not candidate.value("words") and NAME not in candidate.verdicts
    text = search.chunk(shown).text
    if search.mode != "hybrid" or not near or not is_filler(text):
        return False
    return bool(text.strip()) or len(memory.title.split()) <= STUB_TITLE
