"""A chunk that may answer a query, with the results of the legs and the stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import LegScore, Vectors
from djinn_memory.store.index.records import Measurement


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


NOTHING = Scored()
"""The score of a chunk that a leg does not know."""

Scores = Mapping[str, Mapping[int, Scored]]
"""Scores by leg and chunk. All candidates of a list share one object, since few of them are
shown."""


class Mark(Struct, frozen=True):
    """A stage that gives candidates a score of its own, beside the legs."""

    name: str
    """The name among the scores of a hit."""
    label: str
    """How `--explain` calls the score."""
    unit: str = ""
    """The unit of the score."""


TOKENS = Mark("tokens", "token", "MaxSim")
NEIGHBOUR = Mark("neighbour", "neighbouring turn", "score")
RERANK = Mark("rerank", "reranker")
NAME = Mark("name", "exact name")
MARKS = (TOKENS, NEIGHBOUR, RERANK, NAME)
"""The marks whose scores are explained. Those of time only change the order."""

_OF_TEXTS = frozenset({TOKENS.name, RERANK.name})
"""The marks of stages that read the text."""

DATES = "dates"
FORMER = "former"
"""The names of the marks that a question about a time gives."""


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
    """The scores of the stages, by the names of their marks."""
    before: int | None = None
    """The rank before a reranker read the candidate."""
    before_recall: float | None = None
    """The score before a recall rescored the candidate."""
    stand_in: int | None = None
    """The chunk that is shown instead when its own is only links, footnotes or a heading."""

    def legs(self, weights: Mapping[str, float]) -> dict[str, LegScore]:
        """The scores of each leg and stage, by name, with their shares of the total."""
        said = {}
        for name, scored in self.scores.items():
            mark = scored.get(self.chunk_id, NOTHING)
            said[name] = LegScore(mark.raw, mark.rank, self.share * weights[name] * mark.value)
        return {**said, **self.verdicts}

    def marked(self, mark: str, verdict: float) -> Candidate:
        """The candidate with a mark that changes the order.

        It leaves the score, which says how well the text matches.
        """
        return replace(self, verdicts={**self.verdicts, mark: LegScore(verdict, None, 0.0)})

    def weighted(
        self, share: float, added: float, verdicts: Mapping[str, LegScore], before: int | None
    ) -> Candidate:
        """The candidate with this share of its score, and the part that a stage adds to it."""
        return replace(
            self,
            score=share * self.score + added,
            share=share * self.share,
            feedback=share * self.feedback,
            verdicts=verdicts,
            before=before,
        )

    @property
    def asked_for(self) -> bool:
        """Whether it was asked for by its name or time, or was added for another reason than its
        text.
        """
        return not self.scores or bool(self.verdicts.keys() - _OF_TEXTS)

    @property
    def shown_chunk(self) -> int:
        """The chunk that is shown."""
        return self.stand_in or self.chunk_id

    @property
    def fused(self) -> float:
        """How well the text matches, without uses and ratings."""
        return self.score if self.before_recall is None else self.before_recall

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
        marks = (scored.get(self.chunk_id, NOTHING) for scored in self.scores.values())
        return next((mark.nearest for mark in marks if mark.nearest), None)

    def value(self, leg: str) -> float:
        """The score by one leg, before expansion. It decides whether an answer is confident."""
        return self.own_scores.get(leg, {}).get(self.chunk_id, NOTHING).value


def once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first candidate of each memory, in the given order."""
    best: dict[int, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.memory_id, candidate)
    return list(best.values())
