"""Working hours as people write them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.profiles.hours import WorkingTime, read_hours, working_time

MONDAY = datetime(2026, 5, 4)


def at(entry: str, day: int, hour: int, minute: int = 0) -> WorkingTime:
    return working_time(read_hours(entry), MONDAY + timedelta(days=day, hours=hour, minutes=minute))


@pytest.mark.parametrize(
    ("entry", "day", "hour", "spoken"),
    [
        ("mon-fri 09:00-17:00", 0, 9, "within working hours until 17:00"),
        ("mon-fri 09:00-17:00", 0, 8, "outside working hours, which begin at 09:00"),
        ("mon-fri 09:00-17:00", 0, 17, "outside working hours, which begin on Tuesday at 09:00"),
        ("Mon-Fri: 9:00 - 17:00", 4, 20, "outside working hours, which begin on Monday at 09:00"),
        ("tue, thu 09:00-12:00, 13:00–17:00", 1, 12, "outside working hours, which begin at 13:00"),
        ("weekend 10:00-12:00", 6, 11, "within working hours until 12:00"),
        ("fri-mon 10:00-12:00", 6, 11, "within working hours until 12:00"),
        ("daily 22:00-06:00", 0, 5, "within working hours until 06:00"),
        ("sun 22:00-06:00", 0, 5, "within working hours until 06:00"),
        ("sun 22:00-06:00", 6, 23, "within working hours until Monday 06:00"),
        ("mon 09:00-12:00, 12:00-17:00", 0, 11, "within working hours until 17:00"),
        ("daily 00:00-24:00", 3, 3, "within working hours"),
        ("monday 09:00-10:00", 0, 10, "outside working hours, which begin at 09:00"),
    ],
)
def test_where_a_time_lies(entry: str, day: int, hour: int, spoken: str) -> None:
    assert at(entry, day, hour).spoken(day) == spoken


@pytest.mark.parametrize(
    "entry",
    [
        "", "mon-fri", "09:00-17:00", "mon 9-17", "mon 25:00-26:00", "mon 09:60-10:00",
        "someday 09:00-17:00", "mon- 09:00-17:00", "mon 09:00-09:00", "mon 09:00", "x" * 400,
        "mon 09:00-17:00 tue 09:00-17:00",
    ],
)  # fmt: skip
def test_what_is_no_working_time(entry: str) -> None:
    with pytest.raises(ValueError, match="write"):
        read_hours(entry)


@given(st.text(max_size=60))
def test_every_other_text_is_refused_in_words(text: str) -> None:
    try:
        windows = read_hours(text)
    except ValueError as error:
        assert "write" in str(error)
    else:
        assert windows


@given(st.integers(0, 6), st.integers(0, 1439), st.integers(1, 1440), st.integers(0, 10079))
def test_a_time_is_a_working_hour_exactly_within_the_window(
    day: int, start: int, length: int, minute: int
) -> None:
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    stop = (start + length) % 1440
    if start == stop:
        return
    entry = f"{names[day]} {start // 60:02}:{start % 60:02}-{stop // 60:02}:{stop % 60:02}"
    time = working_time(read_hours(entry), MONDAY + timedelta(minutes=minute))
    begin = day * 1440 + start
    inside = (minute - begin) % 10080 < (stop - start) % 1440
    assert time.working == inside
    change = (begin + (stop - start) % 1440 if inside else begin) % 10080
    assert time.changes == (change // 1440, change % 1440)
