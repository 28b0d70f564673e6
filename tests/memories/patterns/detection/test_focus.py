"""A focus is a change of a domain's share in time."""

from __future__ import annotations

import random
from datetime import timedelta

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.focus import Focus, find_focus
from djinn_memory.memories.patterns.detection.history import History
from tests.memories.patterns.years import BEGIN

DOMAINS = ("garden", "bills", "choir", "ward")


def focuses(first: int, last: int, a_day: int = 3) -> list[Focus]:
    """The focus of a year in which `choir` is in every second episode of some days."""
    draw = random.Random(7)
    occasions = []
    for day in range(364):
        for hour in sorted(draw.sample(range(7, 22), a_day)):
            is_choir = first <= day < last and draw.random() < 0.5
            domain = "choir" if is_choir else draw.choice(DOMAINS)
            at = BEGIN + timedelta(days=day, hours=hour)
            occasions.append(Occasion(at, "Something", f"{day}-{hour}", domain))
    return find_focus(History(occasions), 0.01)


def test_ten_weeks_of_a_domain() -> None:
    [focus] = focuses(140, 210)
    days = [int(number) // 3 for number in (focus.episodes[0], focus.episodes[-1])]
    assert focus.domain == "choir"
    assert abs(days[0] - 140) <= 7
    assert abs(days[1] - 210) <= 7


def test_the_same_share_all_year_is_no_focus() -> None:
    assert focuses(0, 364) == []
    assert focuses(0, 0) == []


def test_a_busy_week_is_no_focus() -> None:
    assert focuses(140, 147) == []


def test_one_domain_alone_is_no_focus() -> None:
    occasions = [Occasion(BEGIN + timedelta(days=day), "Sing", str(day), "a") for day in range(90)]
    assert find_focus(History(occasions), 0.01) == []


def test_numbers_are_plain() -> None:
    """A number of numpy in the front matter of a note cannot be compared with other values."""
    [focus] = focuses(140, 210)
    assert type(focus.expected) is type(focus.share) is type(focus.log_q) is float
