from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.episodes.intents import ACTIONS, importance


@pytest.mark.parametrize(
    ("characters", "entities", "intents", "parts", "total"),
    [
        (0, 0, (), (0, 0, 0, 0), 0.5),
        (500, 0, (), (0, 0, 0, 0), 0.5),
        (501, 0, (), (0.1, 0, 0, 0), 0.6),
        (1_000, 0, (), (0.1, 0, 0, 0), 0.6),
        (1_001, 0, (), (0.2, 0, 0, 0), 0.7),
        (10, 1, (), (0, 0.05, 0, 0), 0.55),
        (10, 4, (), (0, 0.2, 0, 0), 0.7),
        (10, 9, (), (0, 0.2, 0, 0), 0.7),
        (10, 0, ("create",), (0, 0, 0.1, 0), 0.6),
        (10, 0, ("create", "update", "delete", "complete"), (0, 0, 0.1, 0), 0.6),
        (10, 0, ("question",), (0, 0, 0, 0.05), 0.55),
        (600, 2, ("update", "question"), (0.1, 0.1, 0.1, 0.05), 0.85),
        (5_000, 12, ("delete", "question"), (0.2, 0.2, 0.1, 0.05), 1.0),
    ],
)
def test_by_hand(
    characters: int, entities: int, intents: tuple[str, ...], parts: tuple[float, ...], total: float
) -> None:
    weight = importance(characters, entities, intents)
    assert (weight.length, weight.entities, weight.action, weight.question) == parts
    assert (weight.base, weight.total) == (0.5, total)


@given(
    characters=st.integers(0, 10_000),
    entities=st.integers(0, 100),
    intents=st.sets(st.sampled_from([*sorted(ACTIONS), "question"])),
)
def test_it_never_falls_when_more_is_there(
    characters: int, entities: int, intents: set[str]
) -> None:
    weight = importance(characters, entities, intents).total
    assert 0.5 <= weight <= 1.0
    assert weight <= importance(characters + 500, entities + 1, {*intents, "create"}).total
