"""Days begin and end in the time zone of the user, wherever that is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from djinn_memory.chunking.chunks import prefix
from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.recall.gap_answers import may_be_newer
from djinn_memory.notes.dates import local_day, moment
from djinn_memory.store.ledger.reading import Gap
from tests.conftest import Run

ZONES = ("UTC", "Asia/Tokyo", "America/Los_Angeles", "Europe/Berlin", "Pacific/Kiritimati")


class WallClock:
    """A clock that shows a local time."""

    def __init__(self) -> None:
        self.at("2026-03-08T12:00")

    def at(self, text: str) -> None:
        """Set the local time."""
        self.time = datetime.fromisoformat(text).astimezone()

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture(params=ZONES)
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[WallClock]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    # In Los Angeles the clock was put forward on this day.
    yield WallClock()
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def djinn(home: Home, clock: WallClock) -> Iterator[Djinn]:
    with Djinn(home, clock=clock) as opened:
        yield opened


EARLY, LATE = "00:30", "23:30"


@pytest.mark.few(2)
def test_a_value_held_on_the_day_on_which_it_was_set(djinn: Djinn, clock: WallClock) -> None:
    for day, value in (("2026-03-07", "Oslo"), ("2026-03-08", "Rome"), ("2026-03-09", "Bari")):
        for hour, name in ((EARLY, "early"), (LATE, "late")):
            clock.at(f"{day}T{hour}")
            djinn.facts.set("anna", name, value)
    for now in ("2026-03-09T23:45", "2026-03-10T00:15", "2026-05-01T12:00"):
        clock.at(now)
        for name in ("early", "late"):
            held = [djinn.facts.get("anna", name, as_of=f"2026-03-0{day}").value for day in (7, 8)]
            assert (name, held) == (name, ["Oslo", "Rome"])
            fact = djinn.facts.get("anna", name)
            assert (fact.value, fact.holds) == ("Bari", "since 9 March 2026")
            assert djinn.search("anna", as_of="2026-03-08", mode="words").hits[0].holds
    assert djinn.facts.list(as_of="2026-03-06").total == 0


@pytest.mark.parametrize("hour", [EARLY, LATE])
def test_a_value_of_today_holds_today(djinn: Djinn, clock: WallClock, hour: str) -> None:
    clock.at(f"2026-03-08T{hour}")
    djinn.facts.set("anna", "city", "Oslo", valid_from="2020-01-01")
    djinn.facts.set("anna", "city", "Rome", valid_from="today")
    assert djinn.facts.get("anna", "city").value == "Rome"
    assert djinn.facts.get("anna", "city", as_of="yesterday").value == "Oslo"
    done = djinn.facts.set("anna", "city", "Bari")
    assert (done.action, done.fact.value) == ("changed", "Bari")
    assert djinn.facts.get("anna", "city", as_of="today").value == "Bari"


def test_an_end_includes_its_day(djinn: Djinn, clock: WallClock) -> None:
    djinn.facts.set("anna", "city", "Oslo", valid_from="2020-01-01", valid_to="2026-03-08")
    for day, holds in (("2026-03-08", "since 1 January 2020 until 8 March 2026"),
                       ("2026-03-09", "until 8 March 2026")):  # fmt: skip
        for hour in (EARLY, LATE):
            clock.at(f"{day}T{hour}")
            assert djinn.facts.get("anna", "city").holds == holds


def test_since_and_until_mean_local_days(djinn: Djinn, clock: WallClock) -> None:
    for day in ("2026-03-07", "2026-03-08", "2026-03-09"):
        for hour in (EARLY, LATE):
            clock.at(f"{day}T{hour}")
            djinn.episodes.record_observation(text=f"tide {day[-1]}")
    djinn.remember("observation", "tide 8", "A day is a day.", fields={"date": "2026-03-08"})
    for since, until, days in (("2026-03-08", None, "9988"), (None, "yesterday", "8877"),
                               ("2026-03-08", "2026-03-08", "88")):  # fmt: skip
        listed = djinn.episodes.list(since=since, until=until)
        assert [episode.title for episode in listed.episodes] == [f"tide {day}" for day in days]
    hits = djinn.search("tide", since="2026-03-08", until="2026-03-08", mode="words").hits
    assert [hit.title for hit in hits] == ["tide 8"] * 3
    assert djinn.episodes.stats().days == dict.fromkeys(
        ("2026-03-09", "2026-03-08", "2026-03-07"), 2
    )


def test_answers_show_local_days(djinn: Djinn, clock: WallClock, run: Run) -> None:
    clock.at("2026-03-08T23:45")
    for hour in (EARLY, LATE):
        djinn.episodes.record_observation(text=f"tide at {hour}", at=f"2026-03-08T{hour}")
    printed = run("memory", "list", home=djinn.home.root).stdout
    assert [line.split()[0] for line in printed.splitlines()] == ["2026-03-08"] * 2


@pytest.mark.parametrize("hour", [EARLY, LATE])
def test_a_value_of_tomorrow_begins_tomorrow(djinn: Djinn, clock: WallClock, hour: str) -> None:
    clock.at(f"2026-03-08T{hour}")
    djinn.facts.set("anna", "city", "Oslo", valid_from="2020-01-01")
    djinn.facts.set("anna", "city", "Rome", valid_from="tomorrow")
    assert djinn.facts.get("anna", "city").value == "Oslo"
    djinn.facts.set("anna", "city", "Bari")
    assert djinn.facts.get("anna", "city").value == "Bari"
    for day, city in (("2026-03-07", "Oslo"), ("2026-03-08", "Bari"), ("2026-03-09", "Rome")):
        assert djinn.facts.get("anna", "city", as_of=day).value == city
    clock.at(f"2026-03-09T{hour}")
    assert djinn.facts.get("anna", "city").value == "Rome"


@pytest.mark.parametrize("hour", [EARLY, LATE])
def test_a_day_of_expiry_ends_here(djinn: Djinn, clock: WallClock, hour: str) -> None:
    clock.at(f"2026-03-08T{hour}")
    djinn.facts.set("anna", "guest", "Bo", expires="2026-03-08")
    djinn.remember("lesson", "The guest room", "It is taken.", expires="2026-03-08")
    assert djinn.facts.get("anna", "guest").value == "Bo"
    assert djinn.recall("The guest room is taken", budget=500).memories
    clock.at("2026-03-09T00:05")
    with pytest.raises(NotFound):
        djinn.facts.get("anna", "guest")
    assert not djinn.recall("The guest room is taken", budget=500).memories
    with pytest.raises(UsageError, match="in the past"):
        djinn.facts.set("anna", "guest", "Cy", expires="2026-03-08")


def test_the_days_of_a_profile_are_local(djinn: Djinn, clock: WallClock) -> None:
    djinn.home.edit((("recall", "profiles", "week"), {"since_days": 7}))
    with Djinn(Home(djinn.home.root), clock=clock) as opened:
        for hour in (EARLY, LATE):
            opened.episodes.record_observation(text=f"tide at {hour}", at=f"2026-03-01T{hour}")
        for hour, number in ((EARLY, 2), (LATE, 2)):
            clock.at(f"2026-03-08T{hour}")
            assert len(opened.recall("tide", "week").memories) == number
        clock.at("2026-03-09T00:30")
        assert opened.recall("tide", "week").memories == ()


@pytest.mark.parametrize("hour", [EARLY, LATE])
def test_the_day_in_front_of_a_window_is_local(djinn: Djinn, clock: WallClock, hour: str) -> None:
    prefix.cache_clear()
    clock.at(f"2026-03-08T{hour}")
    djinn.episodes.record_observation(text="High water at the slip.")
    [episode] = djinn.episodes.list().episodes
    line = prefix(episode.title, (), episode.date, episode.type)
    assert line == "High water at the slip. (Sunday 8 March 2026)"
    prefix.cache_clear()


@pytest.mark.parametrize("hour", [EARLY, LATE])
def test_what_is_extracted_has_the_day_of_its_turn(
    djinn: Djinn, clock: WallClock, hour: str
) -> None:
    at = f"2026-03-01T{hour}"
    text = "We decided to paint the hut. I prefer tea over coffee."
    djinn.episodes.record_interaction(message=text, at=at, session="hut")
    assert len(djinn.sessions.extract("hut").written) == 2
    for memory in djinn.memories.list(types=["decision", "preference"]).memories:
        assert local_day(memory.date) == "2026-03-01"
    held = djinn.memories.list(types=["decision"], as_of="2026-03-01")
    assert held.total == 1


@pytest.mark.parametrize("time_of_day", ["00:30", "23:30"])
def test_a_note_of_the_day_of_a_gap_may_answer_it(clock: WallClock, time_of_day: str) -> None:
    clock.at(f"2026-03-10T{time_of_day}")
    gap = Gap("gap_0123456789", "me", "Who leads?", None, "open", None, moment(clock()), None)
    assert may_be_newer(gap, "2026-03-10")
    assert not may_be_newer(gap, "2026-03-09")
