"""Names: puts a memory first if the query is its title, its alias or its file name."""

from __future__ import annotations

from msgspec.structs import replace

from djinn_memory.models import LegScore
from djinn_memory.notes.slugs import name_key
from djinn_memory.search.candidate import NAME, Candidate
from djinn_memory.search.state import Search
from djinn_memory.store.index.records import IndexedMemory, Selection

FULL = 1.0
"""The minimum score of a memory that was requested by name. It is higher if another score is."""


def put_named_first(search: Search) -> None:
    """Put memories with the requested name first, each with its best chunk.

    The requested names are the whole query, as in `Notes -draft`, and its text without operators.
    Titles come before aliases and file names. Other queries cost one lookup, or two with operators.
    """
    named = _named(search, search.named)
    if name_key(search.query.text) != name_key(search.named.name or ""):
        beside = replace(search.selection, phrases=(), name=search.query.text)
        named |= {
            chunk: each for chunk, each in _named(search, beside).items() if chunk not in named
        }
    if not named:
        return
    full = max([FULL, *(candidate.score for candidate in search.candidates)])
    rest = [candidate for candidate in search.candidates if candidate.chunk_id not in named]
    first = [_at_full(candidate, rank, full) for rank, candidate in enumerate(named.values(), 1)]
    search.candidates = [*first, *rest]


def _named(search: Search, selection: Selection) -> dict[int, Candidate]:
    """The best candidates of memories with this name, by chunk, best first."""
    name = selection.name
    if not (name and name_key(name)):
        return {}
    named: list[tuple[tuple[bool, bool, float], Candidate]] = []
    for memory in search.index.memories(selection, limit=search.depth, fields=()):
        candidate = _best_chunk(search, memory)
        if candidate:
            named.append((_order(memory, name, candidate), candidate))
    named.sort(key=lambda pair: pair[0])
    return {candidate.chunk_id: candidate for _, candidate in named}


def _best_chunk(search: Search, memory: IndexedMemory) -> Candidate | None:
    """The best candidate of a memory, or its first chunk if no leg proposed any."""
    for candidate in search.candidates:
        if candidate.memory_id == memory.memory_id:
            return candidate
    return Candidate(memory.first_chunk, memory.memory_id) if memory.first_chunk else None


def _order(memory: IndexedMemory, name: str, candidate: Candidate) -> tuple[bool, bool, float]:
    """The sort key: an exact title first, then a title in other case, then other names."""
    return name_key(memory.title) != name_key(name), memory.title != name, -candidate.score


def _at_full(candidate: Candidate, rank: int, full: float) -> Candidate:
    verdict = LegScore(FULL, rank, full - candidate.score)
    return replace(candidate, score=full, verdicts={**candidate.verdicts, NAME.name: verdict})
