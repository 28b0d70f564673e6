"""Choices that messages state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from djinn_memory.memories.patterns.detection.choices import (
    ConsistentChoice,
    choices_in,
    find_choices,
)
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.occasion import Occasion
from tests.memories.patterns.years import BEGIN


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("I'll take tea over coffee", [("tea", "coffee")]),
        ("Had tea instead of a coffee", [("tea", "coffee")]),
        ("Chose green tea rather than coffee.", [("tea", "coffee")]),
        ("Tea, not coffee, please", [("Tea", "coffee")]),
        ("Tea or coffee? Coffee, of course", [("coffee", "Tea")]),
        ("Tea or coffee? Both", []),
        ("I am not sure", []),
        ("Moved over there", []),
        ("Tea over tea", []),
    ],
)
def test_choices_in_a_message(text: str, pairs: list[tuple[str, str]]) -> None:
    assert [*choices_in(text)] == pairs


def choices(chosen: int, against: int) -> list[ConsistentChoice]:
    texts = ["Tea over coffee"] * chosen + ["Coffee over tea"] * against
    return find_choices(
        History(
            Occasion(BEGIN + timedelta(days=3 * number), text, str(number))
            for number, text in enumerate(texts)
        ),
        0.001,
    )


def test_a_consistent_choice() -> None:
    [choice] = choices(30, 4)
    assert (choice.chosen, choice.other, choice.days, choice.against) == ("tea", "coffee", 30, 4)


def test_choices_that_vary_are_none() -> None:
    assert choices(20, 18) == []
    assert choices(5, 0) == []
