"""Calendars of any size and age: what is read of them, and in which time and order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
import recurring_ical_events
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Calendar, Event

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.imports.calendar import read_calendar
from djinn_memory.memories.imports.calendar_file import CalendarFile
from djinn_memory.memories.imports.messages import LeftOut, Message
from djinn_memory.memories.imports.occurrences import ImportPeriod, instant
from djinn_memory.models import Problem, Progress
from tests.examples import examples
from tests.growth import assert_linear

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PERIOD = ImportPeriod(NOW - timedelta(days=730), NOW + timedelta(days=365))


def calendar_of(*events: str) -> str:
    """A calendar with events that have these lines."""
    inner = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:Work\n{inner}END:VCALENDAR\n"
    return text.replace("\n", "\r\n")


def read(text: str, now: datetime = NOW) -> Iterator[object]:
    return read_calendar(BytesIO(text.encode()), now, PERIOD, lambda _: None)


def times(text: str) -> list[datetime]:
    """The times of all occurrences in the period."""
    found = [each for each in read(text, PERIOD.end) if isinstance(each, Message)]
    return sorted(each.at for each in found if each.at is not None)


def left_out(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in read(text):
        if isinstance(each, LeftOut):
            counts[each.reason] += each.number
    return counts


def problems(text: str) -> list[str]:
    return [each.why for each in read(text) if isinstance(each, Problem)]


DAILY = "UID:a\nSUMMARY:Standup\nDTSTART:19700101T100000Z\nRRULE:FREQ=DAILY"


def test_only_occurrences_near_now_are_read() -> None:
    found = times(calendar_of(DAILY))
    assert found[0] == datetime(2024, 6, 2, 10, tzinfo=UTC)
    assert found[-1] == datetime(2027, 6, 1, 10, tzinfo=UTC)
    assert len(found) == 365 * 3
    assert left_out(calendar_of(DAILY)) == {
        "events before 1971": 1,
        "occurrences before 2024-06-01 (import.calendar_past)": (
            (date(2024, 6, 2) - date(1971, 1, 1)).days
        ),
        "events that are still to come": 1,
    }


def test_single_events_are_always_read() -> None:
    old, far = "UID:b\nDTSTART:19850101T100000Z", "UID:c\nDTSTART:20450101T100000Z"
    moved = "UID:d\nRECURRENCE-ID:19860101T100000Z\nDTSTART:19860102T100000Z"
    later = "UID:d\nRECURRENCE-ID:19860108T100000Z\nDTSTART:19860109T100000Z"
    assert times(calendar_of(old, far, moved, later)) == [
        datetime(1985, 1, 1, 10, tzinfo=UTC),
        datetime(1986, 1, 2, 10, tzinfo=UTC),
        datetime(1986, 1, 9, 10, tzinfo=UTC),
    ]


def test_later_occurrences_of_a_rule_with_an_end_are_counted() -> None:
    rule = "UID:a\nDTSTART:20260530T100000Z\nRRULE:FREQ=WEEKLY;COUNT=60"
    dates = "UID:b\nDTSTART:20260530T100000Z\nRDATE:20280101T100000Z,20280102T100000Z"
    after = "occurrences after 2027-06-01 (import.calendar_future)"
    assert left_out(calendar_of(rule))[after] == 60 - 53
    assert left_out(calendar_of(dates))[after] == 2


def test_the_settings_hold_for_an_import(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "a.ics"
    file.write_text(calendar_of(DAILY))
    home.edit((("import", "calendar_past"), "10d"), (("import", "calendar_future"), "3w"))
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        report = djinn.import_history([file])
        assert report.recorded == 10
        assert [note.events for note in report.calendars] == [2 + 21]
    with pytest.raises(UsageError, match="a time such as 30d, 8w or 2y"):
        home.edit((("import", "calendar_past"), "2 years"))


def test_a_setting_may_stand_in_the_environment(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.ics"
    file.write_text(calendar_of(DAILY))
    monkeypatch.setenv("DJINN_IMPORT__CALENDAR_PAST", "5d")
    with Djinn(Home(home.root), clock=lambda: NOW) as djinn:
        assert djinn.import_history([file]).recorded == 5


def dates_of(name: str, number: int) -> str:
    start = datetime(2025, 1, 1, 10, tzinfo=UTC)
    return "\n".join(
        f"{name}:{start + timedelta(minutes=31 * each):%Y%m%dT%H%M%SZ}" for each in range(number)
    )


@pytest.mark.parametrize("name", ["RDATE", "EXDATE", "RECURRENCE-ID"])
def test_many_dates_are_read_in_linear_time(name: str) -> None:
    def text(number: int) -> str:
        start = "UID:a\nDTSTART:20250101T100000Z\nRRULE:FREQ=DAILY;COUNT=300"
        if name != "RECURRENCE-ID":
            return calendar_of(f"{start}\n{dates_of(name, number)}")
        begin = datetime(2025, 1, 1, 10, tzinfo=UTC)
        at = [f"{begin + timedelta(days=each):%Y%m%dT%H%M%SZ}" for each in range(number)]
        return calendar_of(start, *(f"UID:a\nRECURRENCE-ID:{each}\nDTSTART:{each}" for each in at))

    assert_linear(lambda number: [*read(text(number))], 1_000)


def test_occurrences_above_the_limit_are_counted() -> None:
    text = calendar_of(f"UID:a\nDTSTART:20250101T100000Z\n{dates_of('RDATE', 10_500)}")
    assert problems(text) == ["500 occurrences are left out; djinn records 10,000 of an event"]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("DTSTART:00010101T100000Z\nRRULE:FREQ=HOURLY;COUNT=200000", "more than 100,000"),
        ("DTSTART:20250101T100000Z\nRRULE:FREQ=MINUTELY", "more than 48 times a day"),
        ("SUMMARY:None", "has no DTSTART"),
    ],
)
def test_hostile_events_are_named(event: str, why: str) -> None:
    [problem] = problems(calendar_of(f"UID:a\n{event}"))
    assert why in problem and problem.endswith("; correct it in the calendar, then export it again")


@pytest.mark.parametrize(
    ("event", "number"),
    [
        ("DTSTART:00010101T103000Z\nDTEND:00010101T113000Z\nRRULE:FREQ=HOURLY;INTERVAL=2", 13_140),
        ("DTSTART;TZID=Europe/Berlin:00010101T103000\nRRULE:FREQ=DAILY", 1_095),
        ("DTSTART;VALUE=DATE:00010101\nRRULE:FREQ=WEEKLY;BYDAY=MO", 157),
        ("DTSTART:00010101T100000\nRRULE:FREQ=YEARLY", 3),
        ("DTSTART:99991231T235959Z\nRRULE:FREQ=DAILY", 0),
        ("DTSTART:99991231T235959Z", 0),
        ("DTSTART:00010101T000000", 0),
        ("DTSTART;VALUE=DATE:99991231", 0),
        ("DTSTART:20250101T100000Z\nRRULE:FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31", 1),
        ("DTSTART:20250101T100000Z\nRRULE:FREQ=HOURLY;COUNT=5;BYMONTH=2;BYMONTHDAY=31", 1),
        ("DTSTART:20250101T100000Z\nRRULE:", 1),
        ("DTSTART:20250101T100000Z\nRRULE:FREQ=WEEKLY;COUNT=4\nEXDATE:20250115T100000Z", 3),
    ],
)
def test_events_at_the_ends_of_time(event: str, number: int) -> None:
    text = calendar_of(f"UID:a\n{event}")
    assert len(times(text)) == min(number, 10_000)
    assert [why for why in problems(text) if "occurrences are left out" not in why] == []


def test_a_change_of_all_later_occurrences_stands_for_each_of_them() -> None:
    changed = (
        "UID:a\nSUMMARY:Later\nRECURRENCE-ID;RANGE=THISANDFUTURE:20250115T100000Z\n"
        "DTSTART:20250115T110000Z"
    )
    text = calendar_of("UID:a\nDTSTART:20250101T100000Z\nRRULE:FREQ=WEEKLY;COUNT=4", changed)
    keys = {each.key for each in read(text) if isinstance(each, Message)}
    assert [at.hour for at in times(text)] == [10, 10, 11, 11]
    assert len(keys) == 4


RULES = st.sampled_from([
    "FREQ=DAILY", "FREQ=DAILY;INTERVAL=3;COUNT=90", "FREQ=WEEKLY;BYDAY=MO,FR", "FREQ=MONTHLY",
    "FREQ=MONTHLY;BYDAY=-1SU", "FREQ=YEARLY", "FREQ=WEEKLY;UNTIL=20250801T000000Z",
    "FREQ=HOURLY;INTERVAL=5;COUNT=300", "FREQ=MONTHLY;BYMONTHDAY=31",
])  # fmt: skip
STARTS = st.datetimes(datetime(1999, 1, 1), datetime(2027, 1, 1)).map(
    lambda at: f"{at:%Y%m%dT%H%M}00"
)
FORMS = st.sampled_from(["DTSTART:{}", "DTSTART:{}Z", "DTSTART;TZID=America/New_York:{}"])


@settings(max_examples=examples(150), deadline=None)
@given(STARTS, FORMS, RULES, st.lists(st.integers(-400, 400), max_size=4), st.booleans())
def test_occurrences_are_those_of_the_library(
    start: str, form: str, rule: str, days: list[int], excludes: bool
) -> None:
    begin = form.format(start)
    at = datetime.strptime(start, "%Y%m%dT%H%M%S")
    head, _, end = begin.removeprefix("DTSTART").partition(start)
    name = "EXDATE" if excludes else "RDATE"
    more = [f"{name}{head}{at + timedelta(days=day):%Y%m%dT%H%M%S}{end}" for day in days]
    text = calendar_of("\n".join(["UID:a", begin, f"RRULE:{rule}", *more]))
    query = recurring_ical_events.of(Calendar.from_ical(text))
    found = query.between(PERIOD.begin - timedelta(days=1), PERIOD.end)
    moments = (instant(each["DTSTART"].dt) for each in found)
    assert times(text) == sorted(each for each in moments if PERIOD.begin <= each < PERIOD.end)


VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc"))) | st.text('abc\\,;:n "N\n')
FOLDS = st.lists(st.integers(1, 200), max_size=6, unique=True)


def file_of(*lines: str) -> CalendarFile:
    """A calendar with an event that has these lines."""
    inner = "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR"])
    file = CalendarFile()
    file.read(BytesIO(inner.encode()), lambda _: None)
    return file


def event_of(file: CalendarFile) -> Event:
    """The only event of a file."""
    [part] = file.calendars
    [place] = part.events.values()
    assert isinstance(place, int)
    return file.event(place)


@given(VALUES, FOLDS, st.sampled_from(["\r\n ", "\n\t", "\r\n\r\n "]))
def test_any_text_may_be_escaped_and_folded(value: str, folds: list[int], fold: str) -> None:
    escaped = re.sub(r"([\\,;])", r"\\\1", value).replace("\n", "\\n")
    line = f"DESCRIPTION;LANGUAGE=en:{escaped}"
    for place in sorted(folds, reverse=True):
        if place < len(line):
            line = line[:place] + fold + line[place:]
    event = event_of(file_of("UID:a", line, "SUMMARY:Last"))
    assert event["DESCRIPTION"] == value and event["SUMMARY"] == "Last"


@given(st.text('ab,;: "\u00e9\u4e2d\n', max_size=300))
def test_texts_are_those_of_the_library(value: str) -> None:
    event = Event()
    event.add("uid", "a")
    event.add("description", value)
    lines = event.to_ical().decode().split("\r\n")[1:-2]
    assert event_of(file_of(*lines))["DESCRIPTION"] == str(event["DESCRIPTION"])


def test_components_that_are_not_closed() -> None:
    events = "BEGIN:VEVENT\nUID:a\nDTSTART:20250101T100000Z\n" * 2
    text = f"BEGIN:VCALENDAR\n{events}END:VEVENT\nBEGIN:VTODO\nEND:VTOOD\nEND:VCALENDAR\n"
    assert len(times(text)) == 1
    assert left_out(text) == {"tasks and journal entries": 1}
    assert [why.partition(";")[0] for why in problems(text)] == [
        "1 event without a line END:VEVENT"
    ]


def test_a_journal_is_written_once_however_the_events_are_ordered(
    home: Home, tmp_path: Path
) -> None:
    days = [(number * 37) % 30 for number in range(300)]
    start = datetime(2025, 1, 1, 12, tzinfo=UTC)
    events = [
        f"UID:{number}\nDTSTART:{start + timedelta(days=day):%Y%m%dT%H%M%SZ}"
        for number, day in enumerate(days)
    ]
    file = tmp_path / "a.ics"
    file.write_text(calendar_of(*events))
    seen: list[Progress] = []
    home.edit((("embedding", "provider"), "none"))
    with Djinn(Home(home.root), progress=seen.append) as djinn:
        assert djinn.import_history([file]).recorded == 300
        total = djinn.episodes.stats().total
    journals = [*(home.root / "vaults" / "me" / "journal").iterdir()]
    assert (total, len(journals)) == (300, 30)
    recorded = [each for each in seen if each.stage == "record"]
    assert [each.total for each in recorded] == [300] * len(recorded)
    assert [each.done for each in recorded] == sorted(each.done for each in recorded) != []
