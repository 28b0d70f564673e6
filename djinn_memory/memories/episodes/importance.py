"""The importance of an episode: a sum of parts that depend on its words. Pure."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

BASE = 0.5
LONG = 500, 1_000
"""Lengths in characters above which an episode is long or very long. Each adds `LENGTH`."""

LENGTH = 0.1
ENTITY, MOST_ENTITIES = 0.05, 0.2
ACTION = 0.1
QUESTION = 0.05

ACTIONS = frozenset({"create", "update", "complete", "delete"})
"""The intents that are actions."""


class Importance(Struct, frozen=True):
    """The parts of the importance of an episode."""

    base: float
    """The same for every episode."""
    length: float
    """Added for a text above 500 characters, and again above 1,000."""
    entities: float
    """Added for each entity in the text, up to a limit."""
    action: float
    """Added for a message that asks for an action or reports one."""
    question: float
    """Added for a message that asks a question."""
    total: float
    """The sum of the parts, at most 1."""


def importance(characters: int, entities: int, intents: Collection[str]) -> Importance:
    """The importance of an episode with this number of characters and of entities."""
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
