"""What one search carries, and the legs that propose and score its candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.models import Expand, Filters, LegScore, Mode, Problem, SearchStep, Vault
from djinn_memory.search import fusion
from djinn_memory.search.backend import Index
from djinn_memory.search.query import Query
from djinn_memory.store.index.records import (
    ChunkRef,
    IndexedMemory,
    Measurement,
    Selection,
)

if TYPE_CHECKING:
    from djinn_memory.embedding.cross_encoder import CrossEncoder
    from djinn_memory.runtime import Runtime

DEPTH = 200
"""Candidates taken from each leg; on two collections 50 give the same order as 400."""

RERANKED = 30
"""Candidates that a cross-encoder reads: three screens of hits; lower ones are rarely seen."""

NEWEST = 1000
"""Memories that filters alone list."""


class Scored(NamedTuple):
    """What a leg makes of one chunk."""

    raw: float = 0.0
    """As the leg measures it, such as BM25."""
    value: float = 0.0
    """On the scale that all legs share, where 1 is a full match."""
    rank: int | None = None
    """Its place in the leg's own list; None when the leg did not find it by itself."""
    nearest: Measurement | None = None
    """The window that is nearest in meaning, for a leg that measures windows."""


_NOTHING = Scored()


class Candidate(Struct):
    """A chunk that may answer."""

    chunk_id: int
    memory_id: int
    score: float = 0.0
    legs: dict[str, LegScore] = field(default_factory=dict)
    """What each leg and the cross-encoder said, by name."""
    values: dict[str, float] = field(default_factory=dict)
    """By leg: its value, by which an answer is judged to be confident."""
    feedback: float = 0.0
    """What likeness to the best memories added."""
    window: tuple[int, int] | None = None
    """The span of the window that is nearest in meaning."""
    before: int | None = None
    """Its place before a cross-encoder read it."""


class HitLimits(Struct, frozen=True):
    """How many hits there may be, in all and of one memory, and how much of each is shown."""

    hits: int
    per_note: int
    per_document: int
    excerpt: int
    """Characters of a hit's excerpt."""


class Leg:
    """One way to find chunks. A leg is created for one search, before the index is refreshed.

    To add a leg, append its class to `search.legs.LEGS`. It must set `name` and `weight`, and at
    least `score`; a leg that does not propose only scores what the others find.
    """

    name: ClassVar[str]
    weight: ClassVar[float]
    """What it counts in the score, against the weights of the other legs."""
    scores_all: ClassVar[bool] = False
    """Whether every chunk has a value, so that a low one says nothing."""

    def __init__(self, search: Search) -> None:
        """Begin what takes time, such as to embed the question."""

    def ready(self, search: Search) -> bool:
        """Whether it can answer, asked once the index is open; it reports why it cannot."""
        return True

    def prepare(self, search: Search) -> None:
        """Called once it is settled which legs answer."""

    def propose(self, search: Search, selection: Selection) -> Sequence[ChunkRef]:
        """The chunks that it finds by itself, best first, about `search.depth` of them."""
        return ()

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Mapping[int, Scored]:
        """What it makes of chunks that any leg proposed; `own` are those that it did."""
        return {}

    def adjust(
        self,
        scores: Mapping[int, float],
        memory_of: Mapping[int, int],
        scored: Mapping[int, Scored],
    ) -> Mapping[int, float]:
        """Scores of all legs, moved by what the candidates say of each other."""
        return scores

    def widen(
        self, search: Search, selection: Selection, candidates: Sequence[Candidate]
    ) -> Sequence[ChunkRef] | None:
        """More chunks, found by what the best candidates say; None where it adds nothing.

        `score` then scores by the wider question, too.
        """
        return None

    def waiting(self, search: Search) -> int:
        """How many windows this leg cannot find yet."""
        return 0

    def certain(self, search: Search) -> AbstractSet[int]:
        """Chunks that are what was asked for, whatever their scores."""
        return frozenset()


class Search:
    """One search on its way from the question to the hits."""

    index: Index
    """Open from the moment in which the legs answer."""

    def __init__(
        self,
        runtime: Runtime,
        query: Query,
        selection: Selection,
        vaults: tuple[Vault, ...],
        mode: Mode,
        limits: HitLimits,
        *,
        encoder: CrossEncoder | None = None,
    ) -> None:
        self.runtime = runtime
        self.query = query
        self.selection = selection
        self.vaults = vaults
        self.mode = mode
        self.limits = limits
        self.encoder = encoder
        self.expand: Expand = "none"
        self.wanted = max(limits.hits, RERANKED if encoder else 0)
        """Hits that the candidates must be enough for."""
        self.depth = max(DEPTH, self.wanted)
        self.per_memory = max(limits.per_note, limits.per_document)
        self.legs: dict[str, Leg] = {}
        self.weights: dict[str, float] = {}
        """The legs that answer, by name; one of weight 0 is not asked, yet shown."""
        self.stems: AbstractSet[str] = frozenset()
        """Stems of the question's words, which a snippet marks."""
        self.candidates: list[Candidate] = []
        self.steps: list[SearchStep] = []
        self.problems: list[Problem] = []
        self._memories: dict[int, IndexedMemory] = {}

    @property
    def asked(self) -> list[Leg]:
        """The legs that answer."""
        return [self.legs[name] for name, weight in self.weights.items() if weight]

    def lookup(self, memory_ids: Iterable[int]) -> Mapping[int, IndexedMemory]:
        """The memories of candidates, each read once."""
        missing = [key for key in memory_ids if key not in self._memories]
        if missing:
            self._memories |= self.index.lookup(missing)
        return self._memories

    def gather(self, filters: Filters) -> list[Candidate]:
        """What all legs find under `filters`, best first; by filters alone the newest."""
        selection = replace(self.selection, filters=filters)
        if not self.query.asks:
            refs = self.index.newest(selection, NEWEST)
            return [Candidate(ref.chunk_id, ref.memory_id, 1.0) for ref in refs]
        proposals = {leg.name: leg.propose(self, selection) for leg in self.asked}
        candidates = self._fuse(proposals)
        wider = {leg.name: leg.widen(self, selection, candidates) for leg in self.asked}
        if any(refs is not None for refs in wider.values()):
            before = {candidate.chunk_id: candidate.values for candidate in candidates}
            candidates = self._fuse(
                {name: [*refs, *(wider[name] or ())] for name, refs in proposals.items()}
            )
            # What was added by feedback makes no answer a confident one.
            for candidate in candidates:
                known = before.get(candidate.chunk_id, {})
                for name in wider:
                    if wider[name] is not None:
                        candidate.values[name] = known.get(name, 0.0)
        return candidates

    def _fuse(self, proposals: Mapping[str, Collection[ChunkRef]]) -> list[Candidate]:
        """One list of what the legs propose, each chunk scored by all of them."""
        memory_of = dict(sorted(ref for refs in proposals.values() for ref in refs))
        chunks = list(memory_of)
        scored = {
            leg.name: leg.score(
                self, chunks, list(dict.fromkeys(ref.chunk_id for ref in proposals[leg.name]))
            )
            for leg in self.asked
        }
        fused = {
            chunk: fusion.fuse(
                {name: marks.get(chunk, _NOTHING).value for name, marks in scored.items()},
                self.weights,
            )
            for chunk in chunks
        }
        alone = len(scored) == 1
        final: Mapping[int, float] = fused
        if not alone:
            for leg in self.asked:
                final = leg.adjust(final, memory_of, scored[leg.name])
        candidates = []
        for chunk, memory in memory_of.items():
            marks = {name: scored.get(name, {}).get(chunk, _NOTHING) for name in self.weights}
            if not (alone or final[chunk] >= fusion.NOISE or self._holds(marks)):
                continue
            nearest = next((mark.nearest for mark in marks.values() if mark.nearest), None)
            candidates.append(
                Candidate(
                    chunk,
                    memory,
                    final[chunk],
                    {
                        name: LegScore(mark.raw, mark.rank, self.weights[name] * mark.value)
                        for name, mark in marks.items()
                    },
                    {name: mark.value for name, mark in marks.items()},
                    final[chunk] - fused[chunk],
                    nearest.window if nearest else None,
                )
            )
        order = dict.fromkeys(chunks, 0)
        if alone:
            # Scores end at 1; what a leg measured tells those above it apart.
            [only] = scored.values()
            order = {chunk: only[chunk].rank or 0 for chunk in chunks if chunk in only}
        return sorted(
            candidates, key=lambda each: (-each.score, order.get(each.chunk_id, 0), each.chunk_id)
        )

    def _holds(self, marks: Mapping[str, Scored]) -> bool:
        """Whether a leg whose values say something gives a chunk any."""
        return any(mark.value for name, mark in marks.items() if not self.legs[name].scores_all)
