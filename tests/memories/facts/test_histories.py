"""Thirty made histories of a changing fact: `as_of` any day has the right value and evidence."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from tests.memories.facts.test_facts import Clock

FIRST, TODAY = date(2020, 1, 1), date(2026, 3, 1)
CITIES = ("Warsaw", "Berlin", "Oslo", "Rome", "Lisbon", "Graz")
Day = tuple[str, str] | None
"""The value of a day and its evidence."""


class Said(Struct, frozen=True):
    """What somebody says about the fact, and when."""

    on: date
    value: str
    evidence: str
    start: date | None = None
    end: date | None = None
    expires: date | None = None
    forgets: bool = False


def history(seed: int) -> list[Said]:
    """Values in order or out of order, with and without ends, said again, expired, forgotten."""
    made = random.Random(seed)
    days = sorted(made.sample(range((TODAY - FIRST).days), made.randint(4, 12)))
    starts: set[date] = set()
    listed: list[Said] = []
    for number, day in enumerate(days):
        on = FIRST + timedelta(days=day)
        value = listed[-1].value if listed and made.random() < 0.2 else made.choice(CITIES)
        start = end = expires = None
        if made.random() < 0.5:
            start = on - timedelta(days=made.randint(0, 900))
            while start in starts:
                start -= timedelta(days=1)
        starts.add(start or on)
        if made.random() < 0.25:
            end = (start or on) + timedelta(days=made.randint(0, 400))
        elif made.random() < 0.15:
            expires = on + timedelta(days=made.randint(1, 400))
        forgets = seed % 5 == 0 and number == len(days) // 2
        listed.append(Said(on, value, f"Note {number}", start, end, expires, forgets))
    return listed


def ends(each: Said) -> date | None:
    return min(filter(None, (each.end, each.expires)), default=None)


def stated(said: list[Said]) -> list[Said]:
    """What is said since the fact was last forgotten, without what only confirms."""
    forgotten = max((place for place, each in enumerate(said) if each.forgets), default=-1)
    kept: list[Said] = []
    for each in said[forgotten + 1 :]:
        last = max(kept, key=lambda each: each.start or each.on, default=None)
        again = last and each.start is None and each.value == last.value
        if not last or not (again and (ends(last) or each.on) >= each.on):
            kept.append(each)
        elif each.end or each.expires:
            kept[kept.index(last)] = replace(last, end=each.end, expires=each.expires)
    return kept


def painted(said: list[Said]) -> dict[date, Day]:
    """The value of each day: values are painted in the order of their beginnings."""
    days: dict[date, Day] = {}
    for each in sorted(stated(said), key=lambda each: each.start or each.on):
        begins = each.start or each.on
        for number in range((TODAY - begins).days + 1):
            day = begins + timedelta(days=number)
            days[day] = (each.value, each.evidence) if day <= (ends(each) or TODAY) else None
    return days


def tell(djinn: Djinn, clock: Clock, said: list[Said]) -> None:
    for each in said:
        clock.time = datetime(each.on.year, each.on.month, each.on.day, 9, tzinfo=UTC)
        djinn.facts.set(
            "anna", "city", each.value, valid_from=each.start and str(each.start),
            valid_to=each.end and str(each.end), expires=each.expires and str(each.expires),
            evidence=[each.evidence],
        )  # fmt: skip
        if each.forgets:
            djinn.facts.forget("city", category="anna")
    clock.time = datetime(2026, 3, 1, 12, tzinfo=UTC)


def asked(seed: int, said: list[Said]) -> Iterator[date]:
    """The days before, on and after each day that matters, and random days."""
    for each in said:
        for day in (each.on, each.start, each.end, each.expires):
            for near in (-1, 0, 1) if day else ():
                assert day
                yield min(TODAY, day + timedelta(days=near))
    made = random.Random(-seed)
    for _ in range(20):
        yield FIRST + timedelta(days=made.randint(-900, (TODAY - FIRST).days))


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(30))
def test_any_day_has_its_value_and_its_evidence(home: Home, seed: int) -> None:
    clock = Clock()
    djinn = Djinn(home, clock=clock)
    said = history(seed)
    tell(djinn, clock, said)
    expected = painted(said)
    for day in sorted(set(asked(seed, said))):
        right = expected.get(day)
        try:
            fact = djinn.facts.get("anna", "city", as_of=str(day))
        except NotFound:
            assert right is None, (day, right, said)
            continue
        assert right and fact.value == right[0], (day, right, fact, said)
        assert f"[[{right[1]}]]" in fact.evidence
        assert (fact.valid_from or "")[:10] <= str(day)
        [listed] = djinn.facts.list(as_of=str(day)).facts
        assert listed == fact
