"""The importance of an episode: a sum of parts that its words decide. Pure."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

BASE = 0.5
LONG = 500, 1_000
"""Characters above which an episode is long, and very long; each adds `LENGTH`."""

LENGTH = 0.1
ENTITY, MOST_ENTITIES = 0.05, 0.2
ACTION = 0.1
QUESTION = 0.05

ACTIONS = frozenset({"create", "update", "complete", "delete"})
"""The intents that are actions."""


class Importance(Struct, frozen=True):
    """The parts of the importance of an episode."""

    base: float
    """What every episode has."""
    length: float
    """For a text above 500 characters, and again above 1,000."""
    entities: float
    """For each thing that the text names, up to a limit."""
    action: float
    """For a message that asks for an action or reports one."""
    question: float
    """For a message that asks a question."""
    total: float
    """Their sum, at most 1."""


def importance(characters: int, entities: int, intents: Collection[str]) -> Importance:
    """The importance of an episode of so many characters that names so many entities."""
    length = LENGTH * sum(characters > limit for limit in LONG)
    named = min(MOST_ENTITIES, ENTITY * entities)
    action = ACTION if ACTIONS.intersection(intents) else 0.0
    question = QUESTION if "question" in intents else 0.0
    total = BASE + length + named + action + question
    return Importance(
        base=BASE,
        length=round(length, 2),
        entities=round(named, 2),
        action=action,
        question=question,
        total=min(1.0, round(total, 2)),
    )
