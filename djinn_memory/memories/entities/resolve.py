"""Finds the entity that a mention means: by name, by alias, then by meaning and context."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.memories.entities.context import MentionContext
from djinn_memory.memories.entities.matching import STRENGTH, NameMatch, candidates
from djinn_memory.memories.entities.names import everyone
from djinn_memory.memories.entities.requests import ResolveMention
from djinn_memory.models import Memory, Problem, extended
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index

NAME = 1.0
"""The weight of how well the name fits."""

SURE = 0.85
"""The least chance with which a candidate is taken as meant. Measured with
`benchmarks/entities.py`, like the values in `context`: of 200 mentions at .75, .8 and .85, 12, 10
and 3 are wrong."""


class EntityCandidate(Memory, frozen=True, kw_only=True):
    """An entity that a mention may mean."""

    name: str
    """The name of the entity that fits the mention."""
    how: NameMatch
    """How the mention fits that name."""
    score: float
    """The chance that this entity is meant, from 0 to 1, if one of the candidates is."""
    evidence: str | None = None
    """The known statement about the entity that fits the context best."""


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
    in_context = bool(request.context.strip())
    if len(fitting) > 1 and in_context:
        context = MentionContext(runtime, index, request, fitting, names)
        gains, reasons = context.compare(problems)
        scores = [score + gain for score, gain in zip(scores, gains, strict=True)]
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
            for each, chance, reason in zip(fitting, _chances(scores), reasons, strict=True)
        ),
        key=lambda candidate: (-candidate.score, candidate.address),
    )
    certain = len(fitting) > 1 or all(each.certain for each in fitting)
    sure = certain and _is_sure(listed, in_context)
    best = listed[0] if sure else None
    return EntityResolution(request.mention, sure, best, tuple(listed), tuple(problems))


def _is_sure(listed: Sequence[EntityCandidate], in_context: bool) -> bool:
    if len(listed) < 2:
        return bool(listed)
    exact = [each for each in listed if each.how == "name"]
    if not in_context:
        # As a link does: the title goes before aliases and parts of names.
        return len(exact) == 1 and exact[0] == listed[0]
    return listed[0].score >= SURE


def _chances(scores: Sequence[float]) -> list[float]:
    """The chance of each candidate, from its score in logarithms of odds."""
    most = max(scores, default=0.0)
    total = sum(math.exp(score - most) for score in scores)
    return [math.exp(score - most) / total for score in scores]
