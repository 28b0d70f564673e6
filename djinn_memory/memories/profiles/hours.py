"""Working hours by weekday, as a person writes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from djinn_memory.languages.days import WEEKDAY_NAMES, WEEKDAYS

EXAMPLE = "mon-fri 09:00-17:00"

_DAY = 24 * 60
"""Minutes of a day."""

_WEEK = 7 * _DAY

_ENTRY = re.compile(r"(?P<days>[^\W\d_][^\d]*?)[ :]+(?P<times>\d.*)")
_TIMES = re.compile(r"(\d{1,2}):(\d{2}) ?[-–] ?(\d{1,2}):(\d{2})")
_GROUPS = {
    "daily": range(7), "every day": range(7), "weekdays": range(5), "weekend": range(5, 7),
    "weekends": range(5, 7),
}  # fmt: skip
_SHORT = {short: day for name, day in WEEKDAYS.items() for short in (name, name[:3])}


Span = tuple[int, int]
"""A stretch of working time, in minutes from Monday 00:00. It may end in the next week."""


class WorkingTime(Struct, frozen=True):
    """Where a time lies in relation to the working hours."""

    working: bool
    """Whether it lies within them."""
    changes: tuple[int, int] | None
    """The weekday from 0 for Monday, and the minute of that day, at which this changes next. None
    if it never does."""

    def spoken(self, weekday: int) -> str:
        """The state in words, such as `within working hours until 17:00`, on a weekday."""
        if self.changes is None:
            return "within working hours" if self.working else "outside working hours"
        day, minute = self.changes
        at = f"{minute // 60:02}:{minute % 60:02}"
        on = "" if day == weekday else f"{WEEKDAY_NAMES[day]} "
        if self.working:
            return f"within working hours until {on}{at}"
        return f"outside working hours, which begin {f'on {on}' if on else ''}at {at}"


def read_hours(text: str) -> list[Span]:
    """The windows of an entry such as `mon-fri 09:00-12:00, 13:00-17:00`.

    A window that ends before it begins lasts until the next day. Raises `ValueError`.
    """
    match = _ENTRY.fullmatch(" ".join(text.lower().split()))
    if not match:
        raise ValueError(f"write days and times, such as {EXAMPLE}")
    days = _days(match["days"].rstrip(" :,"))
    spans = [_span(part.strip()) for part in match["times"].split(",") if part.strip()]
    starts = [day * _DAY for day in dict.fromkeys(days)]
    return [(day + start, day + end) for day in starts for start, end in spans]


def _days(text: str) -> Iterator[int]:
    for part in re.split(r" ?(?:,| and ) ?", text):
        if part in _GROUPS:
            yield from _GROUPS[part]
            continue
        first, dash, last = (each.strip() for each in part.replace("–", "-").partition("-"))
        begin, end = _weekday(first), _weekday(last if dash else first)
        yield from ((begin + number) % 7 for number in range((end - begin) % 7 + 1))


def _weekday(name: str) -> int:
    day = _SHORT.get(name.rstrip("."))
    if day is None:
        raise ValueError(f"{name[:40]!r} is no weekday; write mon, tue, wed, thu, fri, sat or sun")
    return day


def _span(text: str) -> Span:
    match = _TIMES.fullmatch(text)
    hours = [int(part) for part in match.groups()] if match else [99] * 4
    start, end = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if hours[1] > 59 or hours[3] > 59 or start >= _DAY or end > _DAY or start == end:
        raise ValueError(f"{text[:40]!r} is no time; write it as 09:00-17:00")
    return start, end if end > start else end + _DAY


def working_time(windows: Iterable[Span], local: datetime) -> WorkingTime:
    """Where a local time lies in relation to working hours."""
    now = local.weekday() * _DAY + local.hour * 60 + local.minute
    weeks = (-_WEEK, 0, _WEEK)
    spans = sorted((start + week, end + week) for start, end in windows for week in weeks)
    end, working = now, False
    for start, stop in spans:
        # Windows that touch are one.
        if start <= end < stop and (working or start <= now < stop):
            end, working = stop, True
    if working:
        return WorkingTime(True, _place(end) if end - now < _WEEK else None)
    coming = next((start for start, _ in spans if start > now), None)
    return WorkingTime(False, None if coming is None else _place(coming))


def _place(minute: int) -> tuple[int, int]:
    return minute % _WEEK // _DAY, minute % _DAY
