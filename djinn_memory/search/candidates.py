"""The state of one search, and the legs that propose and score its candidates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Expand, Filters, LegScore, Mode, Problem, SearchStep, Vault
from djinn_memory.search import fusion
from djinn_memory.search.backend import Index
from djinn_memory.search.filler import is_filler
from djinn_memory.search.planes import PlaneLimits, missing_planes
from djinn_memory.search.query import Query
from djinn_memory.store.index.records import (
    ChunkRef,
    IndexedChunk,
    IndexedMemory,
    Measurement,
    Selection,
    WordMatch,
)

T = TypeVar("T")

if TYPE_CHECKING:
    from djinn_memory.languages.day_window import DayWindow
    from djinn_memory.models import Vectors
    from djinn_memory.notes.fact_note import PastValue
    from djinn_memory.runtime import Runtime
    from djinn_memory.search.reranker import Reranker
    from djinn_memory.search.source import SearchSource

DEPTH = 200
"""Number of candidates from each leg. On two collections 50 give the same order as 400."""

PLANE_DEPTH = 50
"""The same number for a plane of which the other candidates have too few."""

RERANKED = 30
"""Number of candidates that a reranker reads: three screens of hits. Lower ones are rarely seen."""

AT_FRONT = 20
"""Number of best candidates that decide whether a phrase in a question becomes a filter."""

NEWEST = 1000
"""Maximum number of memories listed by filters alone."""


class Scored(NamedTuple):
    """The score that a leg gives to one chunk."""

    raw: float = 0.0
    """The leg's own measure, such as BM25."""
    value: float = 0.0
    """The score on the scale that all legs share. A full match is 1."""
    rank: int | None = None
    """The rank in the leg's own list; None when the leg did not propose the chunk."""
    nearest: Measurement | None = None
    """The nearest window, for a leg that measures windows."""


_NOTHING = Scored()


Scores = Mapping[str, Mapping[int, Scored]]
"""Scores by leg and chunk. All candidates of a list share one object, since few of them are
shown."""


class Candidate(Struct):
    """A chunk that may answer the query."""

    chunk_id: int
    memory_id: int
    score: float = 0.0
    scores: Scores = {}
    """The scores of the legs."""
    own_scores: Scores = {}
    """The scores before the question was expanded. Whether an answer is confident depends on
    these."""
    feedback: float = 0.0
    """The part of the score from similarity to the best memories."""
    share: float = 1.0
    """The weight of the legs relative to the stages that read the text."""
    verdicts: Mapping[str, LegScore] = {}
    """The scores of the stages that read the text, by name: `tokens`, `rerank`, `name`."""
    before: int | None = None
    """The rank before a reranker read the candidate."""
    stand_in: int | None = None
    """The chunk that is shown instead when its own is only links, footnotes or a heading."""

    def legs(self, weights: Mapping[str, float]) -> dict[str, LegScore]:
        """The scores of each leg and stage, by name, with their shares of the total."""
        said = {}
        for name, scored in self.scores.items():
            mark = scored.get(self.chunk_id, _NOTHING)
            said[name] = LegScore(mark.raw, mark.rank, self.share * weights[name] * mark.value)
        return {**said, **self.verdicts}

    @property
    def window(self) -> tuple[int, int] | None:
        """The span of the nearest window."""
        return self._nearest.window if self._nearest else None

    @property
    def vector(self) -> Vectors | None:
        """The vector of that window."""
        return self._nearest.vector if self._nearest else None

    @property
    def _nearest(self) -> Measurement | None:
        marks = (scored.get(self.chunk_id, _NOTHING) for scored in self.scores.values())
        return next((mark.nearest for mark in marks if mark.nearest), None)

    def value(self, leg: str) -> float:
        """The score by one leg, before expansion. It decides whether an answer is confident."""
        return self.own_scores.get(leg, {}).get(self.chunk_id, _NOTHING).value


class ValueThen(Struct, frozen=True):
    """The value that a fact had at the time of a search."""

    at: str
    line: int
    value: PastValue


class HitLimits(Struct, frozen=True):
    """Limits for hits: in total, per memory, and the length of the excerpts."""

    hits: int
    per_note: int
    per_document: int
    excerpt: int
    """Maximum characters of a hit's excerpt."""
    planes: PlaneLimits | None = None
    """Limits for the hits of each plane, if the search must show all planes."""


class Leg:
    """A way to find chunks. A leg is created for one search, before the index is refreshed.

    To add a leg, append its class to `search.legs.LEGS`. It must set `name` and `weight` and
    implement at least `score`. A leg that does not propose only scores the candidates of other
    legs.
    """

    name: ClassVar[str]
    weight: ClassVar[float]
    """The weight of its scores relative to the other legs."""
    scores_all: ClassVar[bool] = False
    """Whether every chunk gets a value above 0, so that a low value has no meaning."""

    def __init__(self, search: Search) -> None:
        """Start slow work, such as embedding the question."""

    def ready(self, search: Search) -> bool:
        """Whether the leg can answer. Called when the index is open.

        Reports the reason if it cannot.
        """
        return True

    def prepare(self, search: Search) -> None:
        """Prepare requests to the index. Called when it is known which legs answer."""

    def propose(self, search: Search, selection: Selection) -> Callable[[], Sequence[ChunkRef]]:
        """Ask for the chunks that the leg proposes, best first, about `search.depth` of them.

        The result reads the answer. It is called when all legs have asked, so that a server works
        for one leg while another computes.
        """
        return tuple

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], Mapping[int, Scored]]:
        """Score chunks that any leg proposed. `own` are the chunks that this leg proposed.

        The result reads the answer, as that of `propose`. Keep the given order of chunks with equal
        scores.
        """
        return dict

    def adjust(
        self,
        scores: Mapping[int, float],
        memory_of: Mapping[int, int],
        scored: Mapping[int, Scored],
    ) -> Mapping[int, float]:
        """Adjust the scores of all legs by comparing the candidates with each other."""
        return scores

    def widen(
        self, search: Search, selection: Selection, candidates: Sequence[Candidate]
    ) -> Sequence[ChunkRef] | None:
        """Propose more chunks, found from the best candidates; None to add nothing.

        `score` then uses the expanded question, too.
        """
        return None

    def waiting(self, search: Search) -> int:
        """The number of windows that this leg cannot find yet."""
        return 0

    def certain(self, search: Search) -> AbstractSet[int]:
        """Chunks that match the query with certainty, whatever their scores."""
        return frozenset()


class Search:
    """The state of one search, from the query to the hits."""

    index: Index
    """Open from the time when the legs answer."""

    def __init__(
        self,
        runtime: Runtime,
        source: SearchSource,
        query: Query,
        selection: Selection,
        vaults: tuple[Vault, ...],
        mode: Mode,
        limits: HitLimits,
        *,
        reranker: Reranker | None = None,
    ) -> None:
        self.runtime = runtime
        self.source = source
        self.query = query
        self.selection = selection
        self.vaults = vaults
        self.mode = mode
        self.limits = limits
        self.reranker = reranker
        self.named = replace(selection, name="")
        """Selects memories whose name is the whole query, including apparent operators."""
        self.expand: Expand = "none"
        self.wanted = max(limits.hits, RERANKED if reranker else 0)
        """Minimum number of hits that the candidates must cover."""
        self.depth = max(DEPTH, self.wanted)
        self.per_memory = max(limits.per_note, limits.per_document)
        self.legs: dict[str, Leg] = {}
        self.weights: dict[str, float] = {}
        """Weights of the answering legs, by name. A leg of weight 0 is not run, but its scores are
        shown."""
        self.stems: AbstractSet[str] = frozenset()
        """Stems of the words that a snippet highlights."""
        self.candidates: list[Candidate] = []
        self.steps: list[SearchStep] = []
        self.problems: list[Problem] = []
        self.asks_for_former = False
        """Whether the question asks for what no longer holds."""
        self.plane_sizes: dict[str, int] = {}
        """The numbers of memories of planes that were asked by themselves."""
        self.values: dict[int, ValueThen] = {}
        """The values that facts and properties had at the time of the search, by memory."""
        self.windows: tuple[DayWindow, ...] = ()
        """The periods that the question asks about."""
        self.asked_words: frozenset[str] = frozenset()
        """The stems of the content words of the question."""
        self.time_words: frozenset[str] = frozenset()
        """The stems of those that name a period."""
        self.answered: set[int] = set()
        """Entities with a statement that answers the question wholly."""
        self._memories: dict[int, IndexedMemory] = {}
        self._chunks: dict[int, IndexedChunk] = {}
        self._telling: dict[int, list[IndexedChunk]] = {}

    @property
    def as_of(self) -> str | None:
        """The time that the search is about; None for now."""
        return self.selection.filters.as_of

    @property
    def asked(self) -> list[Leg]:
        """The legs that take part in the search."""
        return [self.legs[name] for name, weight in self.weights.items() if weight]

    @cached_property
    def certain(self) -> AbstractSet[int]:
        """Chunks that match the query with certainty, by any leg."""
        return {chunk for leg in self.asked for chunk in leg.certain(self)}

    def lookup(self, memory_ids: Iterable[int]) -> Mapping[int, IndexedMemory]:
        """The memories of candidates. Each memory is read once."""
        missing = [key for key in memory_ids if key not in self._memories]
        if missing:
            self._memories |= self.index.lookup(missing)
        return self._memories

    def load(self, chunk_ids: Iterable[int]) -> None:
        """Read chunks at once that will be asked for."""
        missing = [key for key in chunk_ids if key not in self._chunks]
        if missing:
            self._chunks |= self.index.chunks(missing)

    def chunk(self, chunk_id: int) -> IndexedChunk:
        """A chunk. It is read once."""
        self.load([chunk_id])
        return self._chunks[chunk_id]

    def telling(self, memory_id: int) -> list[IndexedChunk]:
        """The chunks of a memory that are more than links, footnotes or a heading.

        They are read once.
        """
        if memory_id not in self._telling:
            chunks = self.index.chunks_of([memory_id])[memory_id]
            self._telling[memory_id] = [chunk for chunk in chunks if not is_filler(chunk.text)]
        return self._telling[memory_id]

    def gather(self, filters: Filters) -> list[Candidate]:
        """All candidates under `filters`, best first. Filters alone return the newest memories.

        A phrase inside a question becomes a filter if at least half of the `AT_FRONT` best contain
        it, because people also quote phrases that occur in no memory.
        """
        selection = replace(self.selection, filters=filters)
        phrases = WordMatch(selection.phrases, every=True)
        if not phrases.terms or self.query.only_phrases:
            return self._gather(selection)
        candidates = self._gather(replace(selection, phrases=()))
        chunks = [candidate.chunk_id for candidate in candidates]
        holding = self.index.words.score(phrases, chunks)
        front = [candidate.chunk_id in holding for candidate in candidates[:AT_FRONT]]
        if sum(front) < len(front) / 2:
            return candidates
        return [candidate for candidate in candidates if candidate.chunk_id in holding]

    def _gather(self, selection: Selection) -> list[Candidate]:
        if not self.query.asks:
            return [
                Candidate(memory.first_chunk, memory.memory_id, 1.0)
                for memory in self.index.memories(selection, limit=NEWEST)
                if memory.first_chunk is not None
            ]
        proposals = _answers({leg.name: leg.propose(self, selection) for leg in self.asked})
        if self.limits.planes:
            proposals = self._with_planes(self.limits.planes, selection, proposals)
        candidates = self._fuse(proposals)
        wider = {leg.name: leg.widen(self, selection, candidates) for leg in self.asked}
        added = {name: refs for name, refs in wider.items() if refs is not None}
        if added:
            own = {name: candidates[0].scores[name] if candidates else {} for name in added}
            candidates = self._fuse(
                {name: [*refs, *added.get(name, ())] for name, refs in proposals.items()}
            )
            # What was added by feedback makes no answer a confident one.
            for candidate in candidates:
                candidate.own_scores = {**candidate.scores, **own}
        return candidates

    def _with_planes(
        self,
        limits: PlaneLimits,
        selection: Selection,
        proposals: Mapping[str, Sequence[ChunkRef]],
    ) -> dict[str, Sequence[ChunkRef]]:
        """The proposals, and more from planes with too few of them."""
        keys = {ref.memory_id for refs in proposals.values() for ref in refs}
        memories = self.lookup(keys)
        proposed = [memories[key] for key in keys]
        more = {name: [*refs] for name, refs in proposals.items()}
        depth, self.depth = self.depth, PLANE_DEPTH
        missing = missing_planes(self.index, limits, selection, proposed)
        for plane, narrower, size in missing:
            self.plane_sizes[plane] = size
            for leg in self.asked:
                more[leg.name] += leg.propose(self, narrower)()
        self.depth = depth
        return {**more}

    def _fuse(self, proposals: Mapping[str, Collection[ChunkRef]]) -> list[Candidate]:
        """Merge the proposals of all legs. Every leg scores each chunk."""
        listed = {ref for refs in proposals.values() for ref in refs}
        # What is equal keeps this order.
        ordered = sorted(listed, key=lambda ref: ref.place)
        memory_of = {ref.chunk_id: ref.memory_id for ref in ordered}
        chunks = list(memory_of)
        scores: dict[str, Mapping[int, Scored]] = {name: {} for name in self.weights}
        own = {
            leg.name: list(dict.fromkeys(ref.chunk_id for ref in proposals[leg.name]))
            for leg in self.asked
        }
        scores |= _answers({leg.name: leg.score(self, chunks, own[leg.name]) for leg in self.asked})
        values = {
            name: {chunk: mark.value for chunk, mark in scored.items()}
            for name, scored in scores.items()
        }
        fused = fusion.fuse(chunks, values, self.weights)
        final: Mapping[int, float] = fused
        kept: Collection[int] = chunks
        # Scores end at 1; what the only leg measured tells those above it apart.
        order = scores[self.asked[0].name]
        if len(self.asked) > 1:
            order = {}
            for leg in self.asked:
                final = leg.adjust(final, memory_of, scores[leg.name])
            # What a leg whose values say something finds is worth showing, however low its score.
            telling = [values[name] for name in values if not self.legs[name].scores_all]
            kept = [
                chunk
                for chunk in chunks
                if final[chunk] >= fusion.NOISE or any(worth.get(chunk) for worth in telling)
            ]
        best = sorted(kept, key=lambda chunk: (-final[chunk], order.get(chunk, _NOTHING).rank or 0))
        return [
            Candidate(
                chunk, memory_of[chunk], final[chunk], scores, scores, final[chunk] - fused[chunk]
            )
            for chunk in best
        ]


def _answers(asked: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """The answers of legs that have been asked, by name."""
    return {name: answer() for name, answer in asked.items()}
