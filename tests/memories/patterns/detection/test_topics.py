"""A window is sharper than a topic, or the topic explains it."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.habits import find_habits, is_of_topic
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.windows import EVERY_DAY, Rhythm, TimeWindow
from tests.memories.patterns.years import BEGIN

WORKDAYS = (0, 1, 2, 3, 4)


def explained(times: list[tuple[int, int]], window: TimeWindow) -> bool:
    """Whether a topic explains episodes at these days and hours."""
    history = History(
        Occasion(BEGIN + timedelta(days=day, hours=hour), "kiln", f"{day}-{hour}")
        for day, hour in times
    )
    episodes = history.episodes[history.names.index("kiln")]
    return is_of_topic(history, Rhythm(history), window, episodes, 0.01)


@pytest.mark.parametrize(
    ("beside", "by_topic"),
    # Of 40 and `beside` days half are in two of the four hours of a part of the day. 40 of 50 are
    # 4 times the odds, and chance has them with a probability of 1.2e-5; the limit is 0.01 in 96
    # windows, or 1e-4. 40 of 56 are 2.5 times the odds, with a probability of 9e-4.
    [(10, False), (16, True)],
)
def test_two_hours_of_every_day(beside: int, by_topic: bool) -> None:
    times = [(day, 9 + day % 2) for day in range(40)]
    times += [(40 + day, 8 if day % 2 else 11) for day in range(beside)]
    assert explained(times, TimeWindow(EVERY_DAY, 9, 2)) is by_topic


@pytest.mark.parametrize(
    ("other_weekdays", "by_topic"),
    # A topic of all weekdays is on a Monday in 1 of 5. 12 of 26 are 3.4 times the odds, with a
    # probability of 2.4e-3; 12 of 14 are 24 times the odds, with a probability of 2.6e-7. The limit
    # is 0.01 in 10 sets of weekdays, or 1e-3.
    [(14, True), (2, False)],
)
def test_a_weekday_at_any_hour(other_weekdays: int, by_topic: bool) -> None:
    times = [(7 * week, 6 + week) for week in range(12)]
    times += [(7 * week + 1 + week % 4, 6 + week) for week in range(other_weekdays)]
    assert explained(times, TimeWindow((0,))) is by_topic


@pytest.mark.parametrize("weekdays", [WORKDAYS, (5, 6), EVERY_DAY])
def test_all_days_of_a_kind_are_a_topic(weekdays: tuple[int, ...]) -> None:
    times = [(day, 6 + day % 12) for day in range(140) if day % 7 in weekdays]
    assert explained(times, TimeWindow(weekdays))


def test_four_hours_of_all_weekdays_are_a_topic() -> None:
    times = [(day, 9 + day % 4) for day in range(140) if day % 7 in WORKDAYS]
    assert explained(times, TimeWindow(WORKDAYS, 9, 4))


@pytest.mark.parametrize("seed", range(3))
def test_topics_of_the_evening_and_of_weekends_are_no_habits(seed: int) -> None:
    """Work is talked about by day on weekdays, the home in the evening and at weekends."""
    draw = random.Random(seed)
    work, home = ("Review", "Draft", "Test", "Explain"), ("Buy", "Clean", "Repair", "Sell")
    things = ("kiln", "piano", "tent", "contract", "loom", "server")
    occasions: list[Occasion] = []
    for day in range(364):
        topics = [(home, range(10, 23), draw.randrange(1, 5))]
        if day % 7 in WORKDAYS:
            evening, office = range(18, 23), range(9, 18)
            topics = [(work, office, draw.randrange(1, 6)), (home, evening, draw.randrange(3))]
        for verbs, hours, turns in topics:
            for _ in range(turns):
                minutes = draw.choice(hours) * 60 + draw.randrange(60)
                at = BEGIN + timedelta(days=day, minutes=minutes)
                text = f"{draw.choice(verbs)} the {draw.choice(things)}"
                occasions.append(Occasion(at, text, str(len(occasions))))
    assert find_habits(History(occasions), 0.01) == []
