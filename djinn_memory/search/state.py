"""The state of one search, and its parts: legs, the asked time, rerankers, rescorers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import AskedPeriod, Expand, Hit, Known, Mode, Problem, SearchStep, Vault
from djinn_memory.search.backend import Index
from djinn_memory.search.candidate import Candidate, Scored
from djinn_memory.search.query import Query
from djinn_memory.store.index.records import ChunkRef, IndexedChunk, IndexedMemory, Selection

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.languages.days import DayWindow
    from djinn_memory.notes.fact_note import PastValue
    from djinn_memory.runtime import Runtime
    from djinn_memory.search.source import SearchSource

DEPTH = 200
"""Number of candidates from each leg. On two collections 50 give the same order as 400."""

RERANKED = 30
"""Number of candidates that a reranker reads: three screens of hits. Lower ones are rarely seen."""


class PlaneLimits(Struct, frozen=True):
    """Limits for the hits of each plane. A match is the relevance of `embedding.calibration`,
    or the share of the question's words, whichever is higher.
    """

    hits: int
    """The maximum number of hits of each plane."""
    match: float
    """The minimum match of a memory, by meaning or by words."""
    document_match: float
    """The minimum match of a passage of a document."""


class HitLimits(Struct, frozen=True):
    """Limits for hits: in total, per memory, and the length of the excerpts."""

    hits: int
    per_note: int
    per_document: int
    excerpt: int
    """Maximum characters of a hit's excerpt."""
    planes: PlaneLimits | None = None
    """Limits for the hits of each plane, if the search must show all planes."""


class ValueThen(Struct, frozen=True):
    """The value that a fact or an entity had at the time of a search."""

    at: str
    line: int
    value: PastValue


class Leg:
    """A way to find chunks. A leg is created for one search, before the index is refreshed.

    To add a leg, append its class to `search.legs.LEGS`. It must set `name`, `label`, `unit` and
    `weight` and implement at least `score`. A leg that does not propose only scores the candidates
    of other legs.
    """

    name: ClassVar[str]
    """The name among the scores of a hit. A mode of this name uses the leg."""
    label: ClassVar[str]
    """How `--explain` calls the leg."""
    unit: ClassVar[str]
    """The unit of the leg's own measure, such as BM25."""
    weight: ClassVar[float]
    """The weight of its scores relative to the other legs."""
    modes: ClassVar[tuple[Mode, ...]] = ("hybrid", "graph")
    """The modes that use the leg, beside the mode of its own name."""
    second_round: ClassVar[bool] = False
    """Whether the leg only takes part in the second round."""
    scores_all: ClassVar[bool] = False
    """Whether every chunk gets a value above 0, so that a low value has no meaning."""
    marks_words: ClassVar[bool] = False
    """Whether its words are marked in snippets, so that it is prepared in every mode."""
    embedder: Embedder | None = None
    """The model that reads the question, for a leg that has one."""

    def __init__(self, search: Search) -> None:
        """Start slow work, such as embedding the question."""

    def spare(self) -> Embedder | None:
        """The model, if it can embed a few more windows at once."""
        return None

    def ready(self, search: Search) -> bool:
        """Whether the leg can answer. Called when the index is open.

        Reports the reason if it cannot.
        """
        return True

    def prepare(self, search: Search) -> None:
        """Prepare requests to the index. Called when it is known which legs answer."""

    def propose(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
    ) -> Callable[[], Sequence[ChunkRef]] | None:
        """Ask for the chunks that the leg proposes, best first, about `search.depth` of them.

        There are two rounds. The second has `seeds`, the candidates of the first, best first, and
        finds `search.added_words`. None adds nothing. `score` then scores for the same round.

        The result reads the answer. It is called when all legs have asked, so that a server works
        for one leg while another computes.
        """
        return None

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

    def match(self, candidate: Candidate) -> float:
        """How well a candidate matches by this leg alone. 1 is a usual answer."""
        return candidate.value(self.name)

    def coverage(self, search: Search, chunk_ids: Collection[int]) -> Mapping[int, float]:
        """The share of the question in each chunk, from 0 to 1, for a leg that can tell."""
        return {}

    def certain(self, search: Search) -> AbstractSet[int]:
        """Chunks that match the query with certainty, whatever their scores."""
        return frozenset()

    def path(self, search: Search, candidate: Candidate) -> Sequence[int]:
        """The memories through which the leg came to a candidate, for a leg that follows links."""
        return ()

    def waiting(self, search: Search) -> int:
        """The number of windows that this leg cannot find yet."""
        return 0


class AskedTime(Protocol):
    """The time that a question asks about: now, a period, or when something else held."""

    past: bool
    """Whether it is not now."""
    windows: tuple[DayWindow, ...]
    """The periods, if days are asked about."""
    values: dict[int, ValueThen]
    """The values that facts and properties had then, by memory. `held` finds them."""
    answered: set[int]
    """Entities with a statement that answers the question wholly. `held` finds them."""
    read_notes: bool
    """Whether `held` read notes, which may tell of other times than the index knows."""

    def put_first(self, search: Search) -> None:
        """Put the candidates of that time first."""

    def prefer_current(self, search: Search) -> None:
        """Lower the scores of memories that no longer hold, unless they are asked for."""

    def held(self, search: Search, memory: IndexedMemory, vault: Vault) -> bool:
        """Whether a memory held then, as far as the index cannot tell."""

    def arranged(self, search: Search, chosen: list[Candidate]) -> list[Candidate]:
        """The chosen candidates in the order in which they are shown."""

    def judged(self, chosen: Sequence[Candidate]) -> bool | None:
        """Whether the chosen candidates answer, if only the time decides; else None."""

    def shown(self) -> tuple[AskedPeriod, ...]:
        """The periods for the answer."""


class RescoreStage(Protocol):
    """A stage that changes the scores of candidates, and may drop or add candidates."""

    def rescore(self, search: Search) -> list[Candidate]:
        """The candidates, best first. `gather` finds more candidates under other filters."""

    asks_for_newest: bool
    """Whether the question asks only for the newest memories, which the stage added."""


class Verdict(NamedTuple):
    """A model's judgement of one text. Both numbers are from 0 to 1."""

    likelihood: float
    """The likelihood that the text answers, on the model's own scale."""
    score: float
    """The likelihood on the scale of a hit's score."""


class Reranker(Protocol):
    """A model that reads texts together with a question."""

    @property
    def name(self) -> str:
        """The model's name for users."""

    def judge(self, question: str, texts: Sequence[str]) -> list[Verdict]:
        """Return a verdict for each text, within the configured time.

        Raises `DjinnError` unless every text has a verdict.
        """


class Search:
    """The state of one search, from the query to the hits."""

    index: Index
    """Open from the time when the legs answer."""
    time: AskedTime
    """The time that the question asks about. Known when the legs have answered."""

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
        agent: str | None,
        hops: int,
        expand: Expand,
        reranker: Reranker | None,
        rescorer: RescoreStage | None,
    ) -> None:
        self.runtime = runtime
        self.source = source
        self.query = query
        self.selection = selection
        self.vaults = vaults
        self.mode = mode
        self.limits = limits
        self.agent = agent
        self.hops = hops
        """The maximum number of links that are followed from a candidate."""
        self.expand = expand
        self.reranker = reranker
        self.rescorer = rescorer
        self.named = replace(selection, name="")
        """Selects memories whose name is the whole query, including apparent operators."""
        self.wanted = max(limits.hits, RERANKED if reranker else 0)
        """Minimum number of hits that the candidates must cover."""
        self.depth = max(DEPTH, self.wanted)
        self.per_memory = max(limits.per_note, limits.per_document)
        self.legs: dict[str, Leg] = {}
        self.weights: dict[str, float] = {}
        """Weights of the answering legs, by name. A leg of weight 0 is not run, but its scores are
        shown."""
        self.asked_words: frozenset[str] = frozenset()
        """The stems of the content words of the question."""
        self.stems: AbstractSet[str] = frozenset()
        """Stems of the words that a snippet marks."""
        self.added_words: tuple[str, ...] = ()
        """Words that expand the question in the second round of the legs."""
        self.plane_sizes: dict[str, int] = {}
        """The numbers of memories of planes that were asked by themselves."""
        self.candidates: list[Candidate] = []
        self.chosen: list[Candidate] = []
        """The candidates that are shown."""
        self.verdict: Known = "nothing"
        """What the candidates tell; see `stages.judge`."""
        self.hits: tuple[Hit, ...] = ()
        self.steps: list[SearchStep] = []
        self.problems: list[Problem] = []
        self.pending = 0
        """The number of changed files that are not indexed yet."""
        self._memories: dict[int, IndexedMemory] = {}
        self._chunks: dict[int, IndexedChunk] = {}

    @property
    def as_of(self) -> str | None:
        """The time of the filters; None for now."""
        return self.selection.filters.as_of

    @cached_property
    def vault_of(self) -> Mapping[str, Vault]:
        """The vaults that the index contains, by name."""
        return {vault.name: vault for vault in self.index.vaults}

    @property
    def answering(self) -> list[Leg]:
        """The legs that answer, also those whose scores are only shown."""
        return [self.legs[name] for name in self.weights]

    @property
    def asked(self) -> list[Leg]:
        """The legs that take part in the search."""
        return [self.legs[name] for name, weight in self.weights.items() if weight]

    @property
    def scores_all(self) -> bool:
        """Whether a leg answers that gives every chunk a value, by its meaning."""
        return any(leg.scores_all for leg in self.answering)

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

    def allowed(
        self, selection: Selection, memory_ids: Collection[int]
    ) -> dict[int, IndexedMemory]:
        """The memories with these numbers that a selection allows, in the order of the numbers."""
        memories = self.lookup(memory_ids)
        places = {(memory.vault, memory.path) for key in memory_ids for memory in [memories[key]]}
        narrower = replace(selection, places=tuple(sorted(places)))
        numbers = {each.memory_id for each in self.index.memories(narrower, fields=())}
        return {key: memories[key] for key in memory_ids if key in numbers}

    def memories_of(self, candidates: Iterable[Candidate]) -> Mapping[int, IndexedMemory]:
        """The memories of candidates, by number."""
        return self.lookup(candidate.memory_id for candidate in candidates)

    def load(self, chunk_ids: Iterable[int]) -> None:
        """Read chunks at once that will be asked for."""
        missing = [key for key in chunk_ids if key not in self._chunks]
        if missing:
            self._chunks |= self.index.chunks(missing)

    def chunk(self, chunk_id: int) -> IndexedChunk:
        """A chunk. It is read once."""
        self.load([chunk_id])
        return self._chunks[chunk_id]
