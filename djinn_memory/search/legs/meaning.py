"""The meaning leg: finds the chunks whose windows are near the question's vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from djinn_memory.embedding.embedder import QUERY_SECONDS, Background, Embedder
from djinn_memory.errors import DjinnError, Remedy
from djinn_memory.models import Problem, Vectors
from djinn_memory.search import fusion
from djinn_memory.search.backend import Index
from djinn_memory.search.candidate import Candidate, Scored
from djinn_memory.search.query import Query
from djinn_memory.search.state import Leg, Search
from djinn_memory.store.index.records import ChunkRef, Selection
from djinn_memory.store.index.vectors import VectorSpace

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry

_NO_MODEL = Problem("embedding", "embedding.provider is none, so only keywords were searched")
_OVERTAKEN = Problem(
    "embedding",
    "the embedding model has just changed, so only keywords were searched; search again",
)


class QuestionVector:
    """The vector of a question. It is embedded in the background from the start."""

    def __init__(
        self,
        models: ModelRegistry,
        space: VectorSpace | None,
        query: Query,
        problems: list[Problem],
        *,
        resident: bool = False,
    ) -> None:
        """`space` are the vectors of the index when the search began.

        A reason why the model cannot answer is added to `problems`, at the latest by `get`.

        A `resident` process keeps its model loaded, so it embeds at once.
        """
        self._problems = problems
        self._texts = query.for_meaning
        self._vector: Background[Vectors] | None = None
        self._waits = False
        self.embedder: Embedder | None = None
        if models.embedder is None:
            return
        try:
            made_by = (space.recipe, space.identity) if space else (None, None)
            self.embedder = embedder = models.answering(*made_by)
            if embedder is None:
                return
            if not embedder.ready:
                self._report_unindexed("the embedding model is not prepared yet")
            elif space is None:
                self._waits = True
            elif space.identity != embedder.identity:
                self._report_unindexed(
                    f"the index was embedded with {space.identity}, but the current model is "
                    f"{embedder.identity}"
                )
            else:
                at_once = resident and embedder.local
                self._vector = _embed_in_background(embedder, *self._texts, at_once=at_once)
        except DjinnError as error:
            self._report(f"{error}; only keywords were searched")

    def get(self, index: Index) -> Vectors | None:
        """Wait for the vector; None when there is none. `index` is the index to search."""
        space = index.vectors.space
        if self._waits and space is None and index.vectors.waiting():
            self._report_unindexed("no note is embedded yet")
        vector = self._get()
        if vector is None or space is None:
            return None
        if len(vector) != (dimensions := space.dimensions):
            self._report_unindexed(
                f"the model returns {len(vector)} dimensions, but the index has {dimensions}"
            )
            return None
        return vector

    def _get(self) -> Vectors | None:
        try:
            return self._vector.result() if self._vector else None
        except DjinnError as error:
            self._report(f"{error}; only keywords were searched")
            return None

    def spare(self) -> Embedder | None:
        """An embedder that can embed a few more windows at once, or None.

        The first windows of a home are embedded with the question.
        """
        if self._waits and self._vector is None and self.embedder:
            self._vector = _embed_in_background(self.embedder, *self._texts, at_once=True)
        local = self.embedder and self.embedder.local
        return self.embedder if local and self._get() is not None else None

    def outdated(self, space: VectorSpace | None) -> bool:
        """Whether the index was embedded with a different model than the query."""
        return not (space and self.embedder and space.identity == self.embedder.identity)

    def _report_unindexed(self, why: str) -> None:
        self._report(f"{why}, so only keywords are searched; {Remedy('index')}")

    def _report(self, why: str) -> None:
        problem = Problem("embedding", why)
        if problem not in self._problems:
            self._problems.append(problem)


def _embed_in_background(
    embedder: Embedder,
    texts: Sequence[str],
    weights: Sequence[float] = (),
    *,
    at_once: bool = False,
) -> Background[Vectors]:
    """Start to embed a query. The vector of several texts is their mean, scaled to length 1.

    `weights` are the weights of the texts in the mean. Without them, all texts have equal weight.
    """
    return Background(
        lambda: _mean(embedder.embed(texts, query=True, within=QUERY_SECONDS), weights),
        at_once=at_once,
    )


def _mean(vectors: Vectors, weights: Sequence[float]) -> Vectors:
    if len(vectors) == 1:
        vector: Vectors = vectors[0]
        return vector
    import numpy as np

    mean = np.average(vectors, axis=0, weights=weights or None)
    # The mean of opposite vectors is 0 and has no length to divide by.
    unit: Vectors = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
    return unit


class MeaningLeg(Leg):
    """Finds chunks by the vectors of their windows."""

    name = "meaning"
    label = "meaning"
    unit = "cosine"
    weight = 0.5
    """Flat between 0.4 and 0.6 on two collections."""
    scores_all = True

    def __init__(self, search: Search) -> None:
        self._question = QuestionVector(
            search.runtime.models,
            search.source.space(search.vaults),
            search.query,
            search.problems,
            resident=search.runtime.state.change_watch is not None,
        )
        self.embedder = self._question.embedder
        self._vector: Vectors | None = None

    def spare(self) -> Embedder | None:
        """The model, once the question has its vector."""
        return self._question.spare()

    def ready(self, search: Search) -> bool:
        """Whether the query has a vector of the model that the index uses."""
        if search.mode == "meaning" and not search.runtime.models.embedder:
            search.problems.append(_NO_MODEL)
        self._vector = self._question.get(search.index)
        if self._vector is not None and self._question.outdated(search.index.vectors.space):
            search.problems.append(_OVERTAKEN)
            self._vector = None
        return self._vector is not None

    def waiting(self, search: Search) -> int:
        """The number of windows without a vector; 0 if the settings name no model."""
        return search.index.vectors.waiting() if self.embedder else 0

    def propose(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
    ) -> Callable[[], list[ChunkRef]] | None:
        """Ask for the chunks of the nearest windows of each vault. There is no second round."""
        if seeds is not None:
            return None
        assert self._vector is not None
        vectors = search.index.vectors
        return vectors.ask_nearest(self._vector, selection, search.depth, search.wanted)

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], dict[int, Scored]]:
        """Ask for the calibrated cosine of each chunk's best window."""
        space = search.index.vectors.space
        assert self._vector is not None
        assert space is not None
        line = space.calibration
        self._scale = line.scale
        measure = search.index.vectors.ask_measure(self._vector, chunk_ids)

        def answer() -> dict[int, Scored]:
            measured = measure()
            values = {
                chunk: line.scale * measured[chunk].cosine + line.shift
                for chunk in chunk_ids
                if chunk in measured
            }
            near = sorted(values, key=lambda chunk: -values[chunk])
            return {
                chunk: Scored(measured[chunk].cosine, values[chunk], rank, measured[chunk])
                for rank, chunk in enumerate(near, 1)
            }

        return answer

    def adjust(
        self,
        scores: Mapping[int, float],
        memory_of: Mapping[int, int],
        scored: Mapping[int, Scored],
    ) -> Mapping[int, float]:
        """Add the similarity of each chunk's best window to the windows of the best memories."""
        import numpy as np

        best = fusion.best_memories(scores, memory_of)
        vectors = {chunk: mark.nearest.vector for chunk, mark in scored.items() if mark.nearest}
        examples = [vectors[chunk] for chunk in best if chunk in vectors]
        if not examples:
            return scores
        mean = np.mean(examples, axis=0)
        cosines = np.vecdot(np.stack(list(vectors.values())), mean).tolist()
        likeness = {
            chunk: self._scale * cosine for chunk, cosine in zip(vectors, cosines, strict=True)
        }
        return fusion.with_feedback(scores, likeness, best)

    def match(self, candidate: Candidate) -> float:
        """The relevance of the candidate's cosine."""
        # Imported here: few searches have limits for planes.
        from djinn_memory.embedding.calibration import relevance

        return relevance(candidate.value(self.name))


def likeness(
    index: Index, vectors: Sequence[Vectors], selection: Selection, neighbours: int
) -> dict[int, float]:
    """How similar each of the nearest memories is to all of the vectors, by memory.

    The value is the lowest, over the vectors, of the calibrated cosine with the best window of the
    memory. `neighbours` windows of each vault are examined for each vector.
    """
    space = index.vectors.space
    if space is None:
        return {}
    memory_of = {
        ref.chunk_id: ref.memory_id
        for vector in vectors
        for ref in index.vectors.nearest(vector, selection, neighbours)
    }
    least: dict[int, float] = {}
    for vector in vectors:
        best: dict[int, float] = {}
        for chunk, measured in index.vectors.measure(vector, memory_of).items():
            memory = memory_of[chunk]
            best[memory] = max(measured.cosine, best.get(memory, measured.cosine))
        least = {key: min(cosine, least.get(key, cosine)) for key, cosine in best.items()}
    line = space.calibration
    return {memory: line.scale * cosine + line.shift for memory, cosine in least.items()}
