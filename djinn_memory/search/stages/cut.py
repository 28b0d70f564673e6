"""Cut: chooses the candidates to show, from notes that still exist, with a limit for each note."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from djinn_memory.models import LEAST, NEAR
from djinn_memory.search.candidate import Candidate
from djinn_memory.search.snippet import cited, footnotes, is_filler
from djinn_memory.search.stages.planes import PlaneCounts
from djinn_memory.search.state import Search
from djinn_memory.search.stubs import is_stub
from djinn_memory.store.index.records import IndexedChunk, IndexedMemory

BATCH = 50
"""Candidates whose memories are read at once. The first batch is enough for most answers."""


def choose(search: Search) -> None:
    """Choose the candidates to show, in their order.

    The planes have their shares of what is sure, as far as it matches. Otherwise the closest of all
    are shown. A recall, and an answer that is not sure, have a stub only if there is nothing else.
    A recall gives only what is near enough; planes have a least match of their own.
    """
    unsure = search.verdict != "sure"
    chosen: list[Candidate] = []
    if search.limits.planes:
        chosen = [] if unsure else cut(search, search.limits.hits)
        if not chosen:
            search.limits = replace(search.limits, planes=None)
    if not search.limits.planes:
        if search.rescorer and not search.rescorer.asks_for_newest:
            search.candidates = [
                candidate
                for candidate in search.candidates
                if candidate.fused >= LEAST[search.verdict] or (candidate.asked_for and not unsure)
            ]
        chosen = cut(search, search.limits.hits)
    chosen = search.time.arranged(search, chosen)
    search.chosen = chosen
    if unsure or search.rescorer:
        telling = [candidate for candidate in chosen if not is_stub(search, candidate)]
        search.chosen = telling or chosen


def cut(search: Search, most: int) -> list[Candidate]:
    """The best candidates that can be shown, at most this many, each with its chunk to show.

    Stubs come last, and if they are not near only if there is nothing else.
    """
    present: dict[int, bool] = {}
    shown: set[int] = set()
    chosen: list[Candidate] = []
    stubs: list[Candidate] = []
    taken: Counter[int] = Counter()
    planes = PlaneCounts(search)
    for start in range(0, len(search.candidates), BATCH):
        batch = search.candidates[start : start + BATCH]
        memories = search.memories_of(batch)
        search.load(candidate.chunk_id for candidate in batch[:most])
        for candidate in batch:
            key = candidate.memory_id
            memory = memories[key]
            if taken[key] >= _most_of(search, memory) or not planes.admit(candidate, memory):
                continue
            if key not in present:
                vault = search.vault_of[memory.vault]
                exists = search.source.exists(vault, memory.path)
                present[key] = exists and search.time.held(search, memory, vault)
            if not present[key] or (taken[key] and key in search.time.values):
                continue
            chunk = _shown_chunk(search, candidate)
            text = search.chunk(chunk).text
            if chunk not in shown and not planes.repeats(memory, text):
                taken[key] += 1
                planes.count(memory, text)
                shown.add(chunk)
                own = chunk == candidate.chunk_id
                listed = candidate if own else replace(candidate, stand_in=chunk)
                (stubs if is_stub(search, listed) else chosen).append(listed)
                if len(chosen) == most:
                    return chosen
    near = [candidate for candidate in stubs if candidate.fused >= NEAR]
    return [*chosen, *near][:most] or stubs[:most]


def _most_of(search: Search, memory: IndexedMemory) -> int:
    limits = search.limits
    return limits.per_document if memory.plane == "documents" else limits.per_note


def _shown_chunk(search: Search, candidate: Candidate) -> int:
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

    chunks = search.index.chunks_of([candidate.memory_id])[candidate.memory_id]
    telling = (chunk for chunk in chunks if not is_filler(chunk.text))
    return min(telling, key=rank, default=own).chunk_id
