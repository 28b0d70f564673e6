"""Habits are found beside noise, and none is found where there is none."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from msgspec.structs import replace

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.habits import Habit, find_habits
from djinn_memory.memories.patterns.detection.history import History
from tests.growth import assert_linear
from tests.memories.patterns.years import BEGIN, HOURS, noise, weekly


def habits(*parts: list[Occasion]) -> list[Habit]:
    return find_habits(History([occasion for part in parts for occasion in part]), 0.001)


def test_a_habit_in_varied_words_is_found_once() -> None:
    wordings = ("Plan the week", "Planning my week", "Weekly plan for the team")
    planned = [
        replace(occasion, text=wordings[number % 3])
        for number, occasion in enumerate(weekly("plan", 0, 9))
    ]
    [habit] = habits(noise(1), planned)
    assert habit.window.weekdays == (0,)
    assert 9 in habit.window.hours
    assert {"plan", "week"} <= set(" ".join(habit.features).split())
    assert len(habit.episodes) == 40


def test_two_weekdays_are_one_habit() -> None:
    [habit] = habits(noise(2), weekly("Went for a run", 1, 18), weekly("Evening run", 3, 18))
    assert habit.window.weekdays == (1, 3)


def test_a_habit_at_one_hour_of_every_day() -> None:
    days = [part for day in range(7) for part in weekly("Write in my journal", day, 22)]
    [habit] = habits(noise(3), days)
    assert habit.window.weekdays == (0, 1, 2, 3, 4, 5, 6)
    assert 22 in habit.window.hours


def test_a_habit_at_an_hour_with_little_else() -> None:
    draw = random.Random(1)
    kept = [
        replace(occasion, at=draw.choice(noise(9)).at if draw.random() < 0.5 else occasion.at)
        for day in range(7)
        for occasion in weekly("Write in my journal", day, 22)
    ]
    assert [habit.window.start for habit in habits(noise(9, a_day=1), kept)] == [22]


def test_a_habit_of_a_quiet_day_has_hours() -> None:
    [habit] = habits(noise(6, a_day=2), weekly("Call mum", 6, 17))
    assert (habit.window.weekdays, habit.window.hours) == ((6,), (17,))


def test_a_habit_of_three_months() -> None:
    [habit] = habits(noise(4), weekly("Visit the choir", 2, 19, range(10, 23)))
    assert habit.window.weekdays == (2,)


def test_a_habit_that_is_kept_every_second_week() -> None:
    [habit] = habits(noise(5), weekly("Visit the choir", 2, 19, range(0, 40, 2)))
    assert habit.days == 20


@pytest.mark.parametrize("seed", range(5))
def test_an_action_that_follows_the_rhythm_is_none(seed: int) -> None:
    assert habits(noise(seed, a_day=9)) == []


def test_wordings_without_a_common_word_are_one_habit() -> None:
    draw = random.Random(3)
    weeks = [week for week in range(50) if draw.random() < 0.6]
    wordings = ("Groceries", "Supermarket haul", "Shopping trip")
    bought = [
        replace(occasion, text=wordings[number % 3])
        for number, occasion in enumerate(weekly("Groceries", 5, 10, weeks))
    ]
    [habit] = habits(noise(8, weeks=50), bought)
    assert len(habit.episodes) == len(weeks)


@pytest.mark.parametrize("seed", range(4))
def test_a_topic_of_a_part_of_the_day_is_none(seed: int) -> None:
    """Work is talked about from nine to five, and the garden in the evening, at any time of it."""
    draw = random.Random(seed)
    hours = {"contract": range(9, 17), "budget": range(9, 17), "garden": range(17, 23)}
    topics = [
        Occasion(
            BEGIN + timedelta(days=day, hours=draw.choice(hours[name]), minutes=draw.randrange(60)),
            f"{name} question",
            f"{name} {day}",
        )
        for name in hours
        for day in range(280)
        if draw.random() < 0.5
    ]
    assert habits(noise(seed), topics) == []


def test_two_habits_with_a_common_word_and_many_other_uses() -> None:
    draw = random.Random(7)
    other = [
        Occasion(BEGIN + timedelta(days=draw.randrange(280), hours=draw.choice(HOURS)), text, key)
        for number in range(80)
        for text, key in (("Run the backup", f"b{number}"), ("Go for a run", f"r{number}"))
    ]
    runs = [*weekly("Go for a run", 1, 7), *weekly("Go for a run", 3, 7)]
    both = habits(noise(7), other, runs, weekly("Run the backup", 6, 20))
    assert sorted(habit.window.weekdays for habit in both) == [(1, 3), (6,)]


@pytest.mark.parametrize("seed", range(3))
def test_bursts_are_none(seed: int) -> None:
    """Projects of some days, with several turns in a row."""
    draw = random.Random(seed)
    occasions = noise(seed)
    for start in range(0, 280, 20):
        name = draw.choice(("Kestrel", "Heron", "Wren"))
        for day in range(start, start + draw.randint(3, 12)):
            first = draw.choice(occasions).at
            for turn in range(draw.randint(1, 8)):
                at = occasions[0].at.replace(hour=first.hour) + timedelta(days=day, minutes=turn)
                occasions.append(Occasion(at, f"{name} step", f"{day}-{turn}"))
    assert habits(occasions) == []


def test_the_order_of_the_episodes_does_not_matter() -> None:
    occasions = [*noise(6), *weekly("Call mum", 6, 17)]
    shuffled = random.Random(0).sample(occasions, len(occasions))
    assert habits(occasions) == habits(shuffled)


def test_too_few_days_are_no_habit() -> None:
    assert habits(weekly("Call mum", 6, 17, range(5))) == []
    assert habits([]) == []


@pytest.mark.soak
def test_the_cost_grows_with_the_episodes() -> None:
    def learned(number: int) -> None:
        draw = random.Random(5)
        occasions = [
            Occasion(
                BEGIN + timedelta(minutes=draw.randrange(400_000)),
                " ".join(f"w{draw.randrange(number // 20):x}" for _ in range(6)),
                str(key),
            )
            for key in range(number)
        ]
        find_habits(History(occasions), 0.01)

    assert_linear(learned, 8_000)
