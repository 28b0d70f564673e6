"""Periods: when a memory holds. Pure functions over ISO text, which sorts by time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol, TypeVar

from msgspec import Struct

from djinn_memory.errors import UsageError
from djinn_memory.notes import dates

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?")


class Period(Struct, frozen=True):
    """The time in which a statement holds, as ISO text: a year, a month, a day or a time in UTC.

    A day begins and ends in the time zone of this machine.
    """

    start: str | None = None
    """When it begins to hold; None when that is unknown."""
    end: str | None = None
    """When it ceases to hold; None while it holds. A year, a month or a day is included."""

    def begun(self, at: str) -> bool:
        """Whether it has begun at a time of `end_of_day` or `moment`."""
        return self.start is None or self.start <= _comparable(at, self.start)

    def ended(self, at: str) -> bool:
        """Whether it has ended at that time."""
        if self.end is None:
            return False
        return _end_key(self.end) <= _comparable(at, self.end)

    def covers(self, at: str) -> bool:
        """Whether it holds at that time."""
        return self.begun(at) and not self.ended(at)


def _comparable(at: str, date: str) -> str:
    """The form of a time that is compared with a date: for a day, the day of that time."""
    return begin_key(at) if "T" in date else dates.local_day(at)


def begin_key(date: str | None) -> str:
    """When a date begins, as a time in UTC, so that days and times can be compared.

    No date begins before all others.
    """
    if not date or "T" in date:
        return date or ""
    return dates.day_begins(first_day(date))


def first_end(*ends: str | None) -> str | None:
    """The earliest of these ends."""
    return min(filter(None, ends), key=_end_key, default=None)


def _end_key(end: str) -> str:
    # `~` sorts after every digit and `T`: the end of a day includes its hours.
    return end if "T" in end else f"{end}~"


class _Stated(Protocol):
    """A value with the period in which it was said to hold."""

    @property
    def period(self) -> Period:
        """The period."""


S = TypeVar("S", bound=_Stated)


def held(values: Iterable[S], at: str) -> S | None:
    """The value that held at a time: the last that had begun, unless it had ended by then.

    So a value ends where the next one begins. If two begin at once, the one that is listed first
    replaces the other: the newest comes first.
    """
    begun = [value for value in values if value.period.begun(at)]
    if not begun:
        return None
    # `max` returns the first of equals.
    last = max(begun, key=lambda value: begin_key(value.period.start))
    return None if last.period.ended(at) else last


def period_date(text: str | None) -> str | None:
    """The text of `valid_from` or `valid_to` in a note as ISO text; None if it is no date."""
    if exact := dates.iso_date(text):
        return exact
    partial = _PARTIAL.fullmatch(text.strip()) if text else None
    if not partial or partial[1] == "0000" or not "01" <= (partial[2] or "01") <= "12":
        return None
    return partial[0]


def period_of(valid_from: str | None, valid_to: str | None) -> Period:
    """The period in two fields of a note. Text that is no date counts as no text."""
    return Period(period_date(valid_from), period_date(valid_to))


def given_date(field: str, text: str | None, now: datetime) -> str | None:
    """The date in the text of a request's field; None without text.

    It may be past or future: `2026-05-01`, a time, `2026-05`, `2026`, `yesterday`, `30d` (ago), `in
    30d`, `tomorrow`. Raises `UsageError` for other text.
    """
    if not text or not text.strip():
        return None
    spoken = text.strip().lower()
    ahead = spoken == "tomorrow" or spoken.startswith("in ")
    local = now.astimezone()
    when = period_date(
        dates.coming_date(spoken, local) if ahead else dates.spoken_date(spoken, local)
    )
    if when is None:
        why = f"{text}: not a date; write 2026-05-01, 2026-05, 2026-05-01T10:00Z, 30d or yesterday"
        raise UsageError(why, argument=field)
    return when


def first_day(date: str) -> str:
    """The first day of a year or a month; a day or a time stays as it is."""
    return date + "-01-01"[len(date) - 4 :] if len(date) < 10 else date


def last_day(date: str) -> str:
    """The last day of a year or a month; a day or a time stays as it is."""
    if len(date) == 4:
        date += "-12"
    if len(date) == 7:
        from calendar import monthrange

        year, month = map(int, date.split("-"))
        date += f"-{monthrange(year, month)[1]:02}"
    return date


def end_of_day(field: str, text: str | None, now: datetime) -> str | None:
    """The time in UTC that a request's `as_of` means; None without text.

    A day, a month or a year means its last second in the time zone of this machine. Errors as
    `given_date`.
    """
    date = given_date(field, text, now)
    return date if date is None or "T" in date else dates.day_ends(last_day(date))


def spoken_period(period: Period, at: str) -> str | None:
    """A period in words, such as `until 3 May 2026`; None if it has no beginning and no end."""
    if period.ended(at):
        return f"until {_spoken(period.end or '')}"
    if period.start and not period.begun(at):
        return f"from {_spoken(period.start)}"
    since = f"since {_spoken(period.start)}" if period.start else ""
    until = f"until {_spoken(period.end)}" if period.end else ""
    return " ".join(filter(None, (since, until))) or None


def _spoken(date: str) -> str:
    from calendar import month_name

    year, month, day = (*dates.local_day(date).split("-"), "", "")[:3]
    name = month_name[int(month)] if month else ""
    return " ".join(filter(None, (day.lstrip("0"), name, year)))
