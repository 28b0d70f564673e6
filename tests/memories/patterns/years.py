"""Made histories of episodes for tests, with a rhythm of their own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

from djinn_memory.memories.episodes.occasions import Occasion

BEGIN = datetime(2025, 1, 6, 0, 0)
"""A Monday."""

THINGS = (
    "the budget",
    "a present",
    "the printer",
    "the contract",
    "the roof",
    "a recipe",
    "the car",
)
VERBS = ("check", "ask about", "discuss", "read about", "compare", "move", "clean")
HOURS = (8, 9, 9, 9, 10, 10, 11, 13, 14, 14, 15, 16, 19, 20, 20, 21)


def noise(seed: int, weeks: int = 40, a_day: int = 4) -> list[Occasion]:
    """Episodes without a habit, with fewer at weekends."""
    draw = random.Random(seed)
    return [
        Occasion(
            BEGIN + timedelta(days=day, hours=draw.choice(HOURS), minutes=draw.randrange(60)),
            f"{draw.choice(VERBS)} {draw.choice(THINGS)}".capitalize(),
            f"n{day}-{number}",
        )
        for day in range(7 * weeks)
        for number in range(a_day if day % 7 < 5 else a_day // 3)
    ]


def weekly(text: str, weekday: int, hour: int, weeks: Sequence[int] = range(40)) -> list[Occasion]:
    """One episode a week, at one hour."""
    return [
        Occasion(
            BEGIN + timedelta(weeks=week, days=weekday, hours=hour, minutes=week % 20),
            text,
            f"{text} {week}",
        )
        for week in weeks
    ]
