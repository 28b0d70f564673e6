"""Builds the texts of candidates for a model to read."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.chunking.window_text import prefix, window_text
from djinn_memory.search.candidates import Candidate, Search


def window_texts(search: Search, candidates: Sequence[Candidate]) -> list[str]:
    """The embedded text of each candidate's best window, or the whole text if it has no window."""
    chunks = search.index.chunks([candidate.chunk_id for candidate in candidates])
    memories = search.lookup([candidate.memory_id for candidate in candidates])
    texts = []
    for candidate in candidates:
        chunk, memory = chunks[candidate.chunk_id], memories[candidate.memory_id]
        line = prefix(
            memory.title, chunk.headings, memory.date if memory.dated else None, memory.type
        )
        texts.append(window_text(line, chunk.text[slice(*(candidate.window or (None, None)))]))
    return texts
