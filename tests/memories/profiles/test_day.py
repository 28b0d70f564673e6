"""The day's calendar: from an imported file to the context of an agent."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, init
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.profiles.agenda import events_of_day
from djinn_memory.memories.profiles.reading import profile_of
from djinn_memory.memories.profiles.requests import CalendarEvent
from tests.growth import sqlite_work
from tests.memories.imports.exports import SECRET

NOW = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
"""A Monday."""

EVENTS = """\
UID:a
SUMMARY:Standup
LOCATION:Room 4
DTSTART;TZID=Europe/Oslo:20260101T110000
DTEND;TZID=Europe/Oslo:20260101T111500
RRULE:FREQ=WEEKLY;BYDAY=MO,WE
--
UID:b
SUMMARY:Dentist
DTSTART:20260504T140000Z
DURATION:PT30M
--
UID:c
SUMMARY:Harbour festival
DTSTART;VALUE=DATE:20260503
DTEND;VALUE=DATE:20260506
--
UID:d
SUMMARY:Boat check
DTSTART:20260504T060000Z
DTEND:20260504T070000Z
--
UID:e
SUMMARY:Tomorrow
DTSTART:20260505T100000Z
--
UID:f
SUMMARY:Gone
STATUS:CANCELLED
DTSTART:20260504T120000Z
"""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    djinn = Djinn(home, clock=clock)
    djinn.agents.set("time_zone", ["UTC"])
    return djinn


def calendar(tmp_path: Path, events: str = EVENTS, name: str | None = "Work") -> Path:
    lines = [f"X-WR-CALNAME:{name}"] if name else []
    for event in filter(None, events.split("--\n")):
        lines += ["BEGIN:VEVENT", *event.splitlines(), "END:VEVENT"]
    file = tmp_path / "export.ics"
    text = "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *lines, "END:VCALENDAR", ""])
    file.write_bytes(text.encode())
    return file


def today(djinn: Djinn) -> list[tuple[str, str]]:
    return [(event.when, event.title) for event in djinn.agents.profile().calendar]


def test_the_day_with_what_is_over_and_what_comes(djinn: Djinn, tmp_path: Path) -> None:
    report = djinn.import_history([calendar(tmp_path)])
    [note] = report.calendars
    assert (note.vault, note.path, note.calendar) == ("me", "calendars/work.md", "Work")
    assert today(djinn) == [
        ("all day", "Harbour festival"),
        ("06:00 to 07:00", "Boat check"),
        ("09:00 to 09:15", "Standup (Room 4)"),
        ("14:00 to 14:30", "Dentist"),
    ]
    assert djinn.wake().calendar[0] == CalendarEvent(
        "Harbour festival", "all day", "2026-05-03", "2026-05-05", True, False, "Work"
    )
    for text in (markdown(djinn.wake()), markdown(djinn.context("the dentist"))):
        assert "- 06:00 to 07:00: Boat check (over)\n" in text
        assert "- 14:00 to 14:30: Dentist\n" in text
        assert "Gone" not in text
    assert "Tomorrow" not in markdown(djinn.wake())
    djinn.agents.set("time_zone", ["Asia/Tokyo"])
    assert ("23:00 to 23:30", "Dentist") in today(djinn)


def test_a_later_import_may_give_the_calendar_a_domain(djinn: Djinn, tmp_path: Path) -> None:
    [note] = djinn.import_history([calendar(tmp_path)]).calendars
    djinn.import_history([calendar(tmp_path)], domain="work")
    assert djinn.memories.show(note.path).domain == "work"
    djinn.import_history([calendar(tmp_path)])
    assert djinn.memories.show(note.path).domain == "work"


def test_whole_days_may_have_a_duration(djinn: Djinn, tmp_path: Path) -> None:
    regatta = "UID:r\nSUMMARY:Regatta\nDTSTART;VALUE=DATE:20260503\nDURATION:P3D\n"
    djinn.import_history([calendar(tmp_path, regatta)])
    [event] = djinn.agents.profile().calendar
    assert (event.start, event.end) == ("2026-05-03", "2026-05-05")


def test_later_days_need_no_import(djinn: Djinn, clock: Clock, tmp_path: Path) -> None:
    djinn.import_history([calendar(tmp_path)])
    clock.at = NOW + timedelta(days=1)
    assert today(djinn) == [("all day", "Harbour festival"), ("10:00", "Tomorrow")]
    clock.at = NOW + timedelta(days=2)
    assert today(djinn) == [("09:00 to 09:15", "Standup (Room 4)")]
    clock.at = NOW + timedelta(days=200)
    assert today(djinn) == []


def test_an_import_replaces_the_coming_events(djinn: Djinn, home: Home, tmp_path: Path) -> None:
    djinn.import_history([calendar(tmp_path)], dry_run=True)
    note = home.root / "vaults" / "me" / "calendars" / "work.md"
    assert not note.exists()
    djinn.import_history([calendar(tmp_path)])
    before = note.read_bytes()
    djinn.import_history([calendar(tmp_path)])
    assert note.read_bytes() == before
    moved = EVENTS.replace("20260504T140000Z", "20260504T150000Z")
    djinn.import_history([calendar(tmp_path, moved)])
    assert ("15:00 to 15:30", "Dentist") in today(djinn)
    assert ("14:00 to 14:30", "Dentist") not in today(djinn)
    only_old = "UID:z\nSUMMARY:Old\nDTSTART:20250101T100000Z\n"
    djinn.import_history([calendar(tmp_path, only_old)])
    assert today(djinn) == []
    assert [path.name for path in note.parent.iterdir()] == ["work.md"]


def test_a_calendar_without_a_name_has_that_of_its_file(djinn: Djinn, tmp_path: Path) -> None:
    report = djinn.import_history([calendar(tmp_path, name=None)])
    assert [note.path for note in report.calendars] == ["calendars/export.md"]


def test_titles_are_text_and_secrets_are_masked(djinn: Djinn, tmp_path: Path) -> None:
    events = (
        "UID:a\nSUMMARY:[[Pier]] #tag <b>\nDTSTART:20260504T140000Z\n"
        f"--\nUID:b\nSUMMARY:Use {SECRET}\nDTSTART:20260504T150000Z\n"
    )
    djinn.import_history([calendar(tmp_path, events)])
    assert today(djinn)[0] == ("14:00", "[[Pier]] #tag <b>")
    assert SECRET not in markdown(djinn.wake())
    assert not djinn.memories.show("me:calendars/work.md").links


def test_who_may_see_it(home: Home, tmp_path: Path) -> None:
    add_agent(home, "grace")
    home.edit((("access",), {"grace": ["home"]}), (("domains",), {"work": "W", "home": "H"}))
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        djinn.import_history([calendar(tmp_path)], domain="work")
        assert djinn.wake(domains=["work"]).calendar
        assert not djinn.wake(domains=["home"]).calendar
        assert not djinn.context(agent="grace").calendar
        vaults = home.root / "vaults"
        note = vaults / "me" / "calendars" / "work.md"
        shared = vaults / "shared" / "calendar.md"
        shared.write_bytes(note.read_bytes().replace(b"domain: work", b"domain: home"))
        assert djinn.wake(agent="grace").calendar
        shared.write_bytes(note.read_bytes())
        assert not djinn.wake(agent="grace").calendar
        hidden = vaults / "grace" / "calendars" / "work.md"
        hidden.parent.mkdir()
        hidden.write_bytes(note.read_bytes())
        [written] = djinn.import_history([calendar(tmp_path)], agent="grace").calendars
        # A number after the name would tell that there is a file.
        assert re.fullmatch(r"calendars/work-[0-9a-z]{4}\.md", written.path)


def test_its_domain_is_that_of_the_channel(home: Home, tmp_path: Path) -> None:
    home.edit((("channels",), {"calendar": {"domain": "work"}}))
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        djinn.agents.set("default_domain", ["home"])
        djinn.import_history([calendar(tmp_path)])
        assert djinn.wake(domains=["work"]).calendar
        assert not djinn.wake(domains=["home"]).calendar


def test_the_events_have_a_share_of_the_budget(djinn: Djinn, tmp_path: Path) -> None:
    events = "--\n".join(
        f"UID:{number}\nSUMMARY:Event number {number}\nDTSTART:20260504T{number % 24:02}0000Z\n"
        for number in range(100)
    )
    djinn.import_history([calendar(tmp_path, events)])
    for answer in (djinn.wake(budget=400), djinn.context(budget=400)):
        assert answer.tokens <= 400
        assert 0 < len(answer.calendar) < 10
        assert not any(event.over for event in answer.calendar)
        assert answer.left_out >= 90


def test_the_cost_does_not_grow_with_notes(tmp_path_factory: pytest.TempPathFactory) -> None:
    steps = []
    for size in (100, 800):
        home, _ = init(tmp_path_factory.mktemp("size") / "home", ("me",))
        home.edit((("embedding", "provider"), "none"))
        people = home.root / "vaults" / "me" / "people"
        people.mkdir()
        for number in range(size):
            (people / f"{number}.md").write_text(f"---\ntype: person\n---\nPerson {number}.\n")
        (people.parent / "i.md").write_text("---\ntype: profile\nvoice: brief\n---\nI.\n")
        with sqlite_work() as work, Djinn(home, clock=lambda: NOW) as djinn:
            djinn.index()
            work.clear()
            for _ in range(100):
                assert profile_of(djinn.runtime, "me")
                events_of_day(djinn.runtime, "me", UTC)
            steps.append(work["steps"])
    assert 0 < steps[1] < 2 * steps[0], steps
