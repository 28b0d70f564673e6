"""The events of a calendar as lines of a note, and those of a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.profiles.agenda import PlannedEvent, event_line, on_day, read_events

OSLO = ZoneInfo("Europe/Oslo")


def test_lines_as_a_person_reads_them() -> None:
    start = datetime(2026, 11, 23, 9, tzinfo=OSLO)
    for event, line in (
        (PlannedEvent("w", start, start + timedelta(minutes=90), "Standup (Room 4)"),
         "- 2026-11-23 09:00+01:00 to 10:30: Standup (Room 4)"),
        (PlannedEvent("w", start, None, "Call [[Ada]]\n#now"),
         r"- 2026-11-23 09:00+01:00: Call \[\[Ada\]\] \#now"),
        (PlannedEvent("w", start, start + timedelta(days=1), "Watch"),
         "- 2026-11-23 09:00+01:00 to 2026-11-24 09:00: Watch"),
        (PlannedEvent("w", date(2026, 11, 24), date(2026, 11, 26), "Festival"),
         "- 2026-11-24 to 2026-11-26, all day: Festival"),
        (PlannedEvent("w", date(2026, 11, 24), date(2026, 11, 24), "Holiday"),
         "- 2026-11-24, all day: Holiday"),
    ):  # fmt: skip
        assert event_line(event) == line


def test_an_event_may_last_through_a_change_of_the_clock() -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=OSLO)
    event = PlannedEvent("w", start, datetime(2026, 10, 25, 4, tzinfo=OSLO), "Night watch")
    line = event_line(event)
    assert line == "- 2026-10-24 22:00+02:00 to 2026-10-25 04:00+01:00: Night watch"
    [written] = read_events(line, "w")
    assert written.period(UTC) == event.period(UTC)


OFFSETS = st.integers(-12 * 4, 14 * 4).map(lambda quarters: timedelta(minutes=15 * quarters))
TIMES = st.datetimes(
    datetime(2000, 1, 2), datetime(2099, 1, 1), timezones=OFFSETS.map(timezone)
).map(lambda at: at.replace(second=0, microsecond=0))
DAYS = st.dates(date(2000, 1, 2), date(2099, 1, 1))
TITLES = st.text(max_size=50).map(lambda text: " ".join(text.split())).filter(bool)


@given(TIMES, st.none() | st.integers(1, 5000), TITLES)
def test_an_event_is_read_as_it_was_written(at: datetime, minutes: int | None, title: str) -> None:
    end = None if minutes is None else at + timedelta(minutes=minutes)
    event = PlannedEvent("w", at, end, title)
    assert [*read_events(f"Text.\n{event_line(event)}\n- [ ] more", "w")] == [event]


@given(DAYS, st.integers(0, 9), TITLES)
def test_so_are_whole_days(day: date, more: int, title: str) -> None:
    event = PlannedEvent("w", day, day + timedelta(days=more) if more else None, title)
    assert [*read_events(event_line(event), "w")] == [event]


@given(st.text(max_size=80), TITLES)
def test_no_line_breaks_it(text: str, title: str) -> None:
    for line in (
        text,
        f"- 2026-02-31 09:00+01:00: {title}",
        f"- 2026-02-01 29:00+01:00: {title}",
        f"- 2026-02-01 09:00+99:00 to 10:00: {title}",
        f"- 2026-13-01, all day: {title}",
    ):
        assert all(event.title for event in read_events(line, "w"))


def test_the_day_is_that_of_the_time_zone() -> None:
    events = [
        PlannedEvent("w", datetime(2026, 11, 23, 23, 30, tzinfo=UTC), None, "late"),
        PlannedEvent("w", date(2026, 11, 23), None, "whole"),
        PlannedEvent("w", date(2026, 11, 20), date(2026, 11, 24), "long"),
        PlannedEvent("w", datetime(2026, 11, 22, 22, tzinfo=UTC),
                     datetime(2026, 11, 23, 0, tzinfo=UTC), "night"),
        PlannedEvent("other", datetime(2026, 11, 23, 23, 30, tzinfo=UTC), None, "late"),
    ]  # fmt: skip

    def titles(now: datetime) -> list[str]:
        return [event.title for event in on_day(iter(events), now)]

    assert titles(datetime(2026, 11, 23, 12, tzinfo=UTC)) == ["long", "whole", "late"]
    assert titles(datetime(2026, 11, 24, 12, tzinfo=OSLO)) == ["long", "late"]
    assert titles(datetime(2026, 11, 23, 12, tzinfo=OSLO)) == ["long", "night", "whole"]
