"""One action after another is a habit; two actions at one time of day are not."""

from __future__ import annotations

import random
from datetime import timedelta

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.sequences import ActionSequence, find_sequences
from tests.memories.patterns.years import noise, weekly


def sequences(*parts: list[Occasion]) -> list[ActionSequence]:
    return find_sequences(History([occasion for part in parts for occasion in part]), 0.001)


def after(seed: int, *, order: bool = True) -> list[Occasion]:
    """At any time: a deployment, and then a look at the logs."""
    draw = random.Random(seed)
    occasions = []
    for number, base in enumerate(draw.sample(noise(seed), 45)):
        later = base.at + timedelta(minutes=draw.randint(2, 50))
        texts = ["Deployed the gateway", "Look at the logs"]
        if not order and number % 2:
            texts.reverse()
        occasions += [
            Occasion(at, text, f"{text} {number}")
            for at, text in zip((base.at, later), texts, strict=True)
        ]
    return occasions


def test_an_action_after_another_is_found_once() -> None:
    [sequence] = sequences(noise(1), after(1))
    assert set(sequence.first.split()) <= {"deploy", "gateway"}
    assert "log" in sequence.second
    assert sequence.days > 25


def test_topics_of_one_session_in_any_order_are_none() -> None:
    assert sequences(noise(2), after(2, order=False)) == []


def test_two_habits_one_hour_apart_are_none() -> None:
    draw = random.Random(3)
    planned = weekly("Plan the week", 0, 9, sorted(draw.sample(range(40), 30)))
    reports = weekly("Write the report", 0, 10, sorted(draw.sample(range(40), 30)))
    assert sequences(noise(3), planned, reports) == []


def test_two_habits_that_are_always_kept_are_none() -> None:
    planned, reports = weekly("Plan the week", 4, 14), weekly("Order groceries", 4, 15)
    assert sequences(noise(5, a_day=1), planned, reports) == []


def test_noise_has_no_sequences() -> None:
    assert [sequences(noise(seed, a_day=9)) for seed in range(4)] == [[]] * 4
    assert sequences([]) == []
