"""Finds the entity that a mention means: by name, by alias, then by meaning and context."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.entities.evidence import evidence
from djinn_memory.memories.entities.matching import (
    STRENGTH,
    NamedCandidate,
    NameMatch,
    candidates,
)
from djinn_memory.memories.entities.mentions import everyone
from djinn_memory.memories.entities.names import names_of
from djinn_memory.memories.entities.requests import ResolveMention
from djinn_memory.models import Memory, Problem, extended
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.legs.words_query import content
from djinn_memory.store.index.records import MemoryNames

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

MEANING = 44.0
"""The weight of a cosine. Measured with `benchmarks/entities.py`, like the values below."""

WORDS = 4.0
"""The weight of the share of the context's words that only this candidate's evidence has."""

NAME = 2.0
"""The weight of how well the name fits."""

NOTHING = 0.2
"""How much nearer a context must be to a sentence of `NEUTRAL` than to what is known of the
candidates, to be as likely to tell nothing. Without these sentences, half of the contexts that tell
nothing are taken for one of the candidates, and with them one in ten."""

SURE = 0.6
"""The least chance with which a candidate is taken as meant."""

NEUTRAL = (
    "She rang me yesterday.", "He sent me an email.", "Let us meet again soon.",
    "I do not know more about it.", "Please remind me next week.", "They said hello.",
    "We spoke on the phone.", "I have to answer her letter.", "Somebody asked about him.",
    "The name came up again.", "I heard nothing new.", "We will see each other later.",
    "He was there too.", "She wants to know more.", "I forgot what it was about.",
    "It was nice to see them.", "Ask me again another day.", "He is on the list.",
    "We have not decided anything yet.", "I am waiting for a reply.",
)  # fmt: skip
"""Sentences that tell nothing about whoever is meant."""

_NEUTRAL: dict[str, Vectors] = {}
"""Their vectors, by the identity of the model."""


class EntityCandidate(Memory, frozen=True, kw_only=True):
    """An entity that a mention may mean."""

    name: str
    """The name of the entity that fits the mention."""
    how: NameMatch
    """How the mention fits that name."""
    score: float
    """The chance that this entity is meant, from 0 to 1. The rest of 1 is the chance that the
    context does not tell."""
    evidence: str | None = None
    """What is known of the entity that fits the context best."""


class EntityResolution(Struct, frozen=True):
    """The entity that a mention means, or the candidates if that is not sure."""

    mention: str
    """The mention."""
    sure: bool
    """Whether one entity is meant."""
    entity: EntityCandidate | None
    """The entity; null if it is not sure."""
    candidates: tuple[EntityCandidate, ...]
    """The entities that it may mean, best first."""
    problems: tuple[Problem, ...] = ()
    """Problems that kept the meaning of the context from counting."""


def resolve_mention(runtime: Runtime, index: Index, request: ResolveMention) -> EntityResolution:
    """Find the entity that a mention means; see `Entities.resolve`."""
    names = everyone(index)
    kind = fold(request.kind).strip() if request.kind else None
    fitting = candidates(request.mention, [e for e in names if kind in (None, e.type)])
    problems: list[Problem] = []
    scores = [NAME * STRENGTH[each.how] for each in fitting]
    reasons: Sequence[str | None] = [None] * len(fitting)
    nothing: float | None = None
    if len(fitting) > 1 and request.context.strip():
        context = _Context(runtime, index, request, fitting)
        known = [context.evidence(each, names) for each in fitting]
        gains, nothing, reasons = context.compare(known, problems)
        scores = [score + gain for score, gain in zip(scores, gains, strict=True)]
    chances = _chances(scores, nothing)
    memories = index.lookup([each.entity.memory_id for each in fitting], fields=())
    listed = sorted(
        (
            extended(
                memories[each.entity.memory_id],
                EntityCandidate,
                name=each.name,
                how=each.how,
                score=round(chance, 4),
                evidence=reason,
            )
            for each, chance, reason in zip(fitting, chances, reasons, strict=True)
        ),
        key=lambda candidate: (-candidate.score, candidate.address),
    )
    sure = _is_sure(listed, bool(request.context.strip()))
    best = listed[0] if sure else None
    return EntityResolution(request.mention, sure, best, tuple(listed), tuple(problems))


def _is_sure(listed: Sequence[EntityCandidate], in_context: bool) -> bool:
    if not listed:
        return False
    if len(listed) == 1:
        return listed[0].how != "spelling"
    exact = [each for each in listed if each.how == "name"]
    if not in_context:
        # As a link does: the title goes before aliases and parts of names.
        return len(exact) == 1 and exact[0] == listed[0]
    return listed[0].score >= SURE


def _chances(scores: Sequence[float], nothing: float | None) -> list[float]:
    """The chance of each candidate; the rest is that of `nothing`."""
    every = [*scores, nothing] if nothing is not None else [*scores]
    most = max(every, default=0.0)
    total = sum(math.exp(score - most) for score in every)
    return [math.exp(score - most) / total for score in scores]


class _Context:
    """The text around a mention, compared with what is known of the candidates."""

    def __init__(
        self,
        runtime: Runtime,
        index: Index,
        request: ResolveMention,
        fitting: Sequence[NamedCandidate],
    ) -> None:
        self._runtime = runtime
        self._index = index
        self._text = request.context
        vocabulary = index.words
        self._names = {
            word
            for each in fitting
            for name in (*names_of(each.entity), request.mention)
            for word in vocabulary.split(name)
        }
        counts = Counter(
            " ".join(vocabulary.split(name))
            for each in fitting
            for name in dict.fromkeys(map(fold, names_of(each.entity)))
        )
        self._shared = {name for name, count in counts.items() if count > 1}
        self._shared.add(" ".join(vocabulary.split(request.mention)))

    def evidence(self, each: NamedCandidate, names: Sequence[MemoryNames]) -> list[str]:
        """What is known of a candidate."""
        return evidence(self._index, each.entity, names, self._shared)

    def compare(
        self, known: Sequence[Sequence[str]], problems: list[Problem]
    ) -> tuple[list[float], float | None, list[str | None]]:
        """The gain of each candidate by its evidence, the score of a context that tells nothing,
        and the sentence that fits each candidate best.
        """
        cosines, neutral, reasons = self._by_meaning(known, problems)
        words = self._by_words(known)
        gains = [MEANING * a + WORDS * b for a, b in zip(cosines, words, strict=True)]
        nothing = None if neutral is None else NAME + MEANING * (neutral - NOTHING)
        return gains, nothing, reasons

    def _by_words(self, known: Sequence[Sequence[str]]) -> list[float]:
        """The share of the context's words, weighted by how few candidates have them."""
        wanted = self._content(self._text)
        held = [frozenset().union(*map(self._content, sentences)) for sentences in known]
        total = len(known)
        weights = {
            stem: math.log((total + 1) / (sum(stem in each for each in held) + 0.5))
            for stem in wanted
        }
        most = sum(weights.values())
        return [
            sum(weights[stem] for stem in wanted & each) / most if most > 0 else 0.0
            for each in held
        ]

    def _content(self, text: str) -> frozenset[str]:
        return content(self._index.words, text) - self._stems

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(self._index.words.stemmed(" ".join(sorted(self._names))))

    def _by_meaning(
        self, known: Sequence[Sequence[str]], problems: list[Problem]
    ) -> tuple[list[float], float | None, list[str | None]]:
        embedder = self._runtime.models.embedder
        none: list[str | None] = [None] * len(known)
        if embedder is None or not embedder.ready:
            return [0.0] * len(known), None, none
        texts = list(dict.fromkeys(text for sentences in known for text in sentences))
        bare = [self._without_names(text) for text in texts]
        try:
            vectors = embedder.embed([self._without_names(self._text), *bare])
            if embedder.identity not in _NEUTRAL:
                _NEUTRAL[embedder.identity] = embedder.embed(NEUTRAL)
        except DjinnError as error:
            problems.append(Problem("meaning", f"{error.message}; only words were compared"))
            return [0.0] * len(known), None, none
        cosine = {
            text: float(row @ vectors[0]) for text, row in zip(texts, vectors[1:], strict=True)
        }
        best = [sorted(sentences, key=lambda text: -cosine[text]) for sentences in known]
        return (
            [_top(cosine[text] for text in sentences[:2]) for sentences in best],
            float((_NEUTRAL[embedder.identity] @ vectors[0]).max()),
            [sentences[0] if sentences else None for sentences in best],
        )

    def _without_names(self, text: str) -> str:
        """A text without the names of the candidates, which all of them have in common."""
        kept = [word for word in text.split() if not self._is_name(word)]
        return " ".join(kept) or text

    def _is_name(self, word: str) -> bool:
        words = self._index.words.split(re.sub(r"['’]s\b", "", word))
        return bool(words) and all(each in self._names for each in words)


def _top(cosines: Iterable[float]) -> float:
    """The best cosine, and a little of the second."""
    first, second = [*cosines, 0.0, 0.0][:2]
    return 0.8 * first + 0.2 * max(0.0, second)
