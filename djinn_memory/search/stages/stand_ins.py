"""Stand-ins: what is shown of a memory where the chunk that answers is only links or footnotes."""

from __future__ import annotations

from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.filler import cited, footnotes, is_filler
from djinn_memory.search.stages.names import NAME
from djinn_memory.store.index.records import IndexedChunk, IndexedMemory

STUB_TITLE = 2
"""Words of a title that is only a name: a longer one may say all that there is to say."""


def shown_chunk(search: Search, candidate: Candidate) -> int:
    """The chunk to show for a candidate: its own, unless that says nothing and another one does.

    For footnotes that is the chunk that cites most of them, else the best of the memory, then the
    nearest. Who asks for a phrase gets the chunk that holds it.
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
    """Whether a candidate says nothing and came up by meaning alone, as the stub of a tag.

    Such a one is shown where there is nothing else. Who searches by meaning alone wants all.
    """
    near = candidate.scores and not candidate.value("words") and NAME not in candidate.verdicts
    text = search.chunk(shown).text
    if search.mode != "hybrid" or not near or not is_filler(text):
        return False
    return bool(text.strip()) or len(memory.title.split()) <= STUB_TITLE
