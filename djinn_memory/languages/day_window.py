"""Periods in whole days. Pure."""

from __future__ import annotations

import calendar
from datetime import date

from msgspec import Struct


class DayWindow(Struct, frozen=True):
    """A period in whole days. A side without a day is open."""

    first: date | None
    last: date | None

    def meets(self, other: DayWindow) -> bool:
        """Whether two periods share a day."""
        return not (
            (self.first and other.last and self.first > other.last)
            or (self.last and other.first and self.last < other.first)
        )

    def earlier(self, years: int) -> DayWindow:
        """The same period of an earlier year."""
        return DayWindow(
            self.first and years_earlier(self.first, years),
            self.last and years_earlier(self.last, years),
        )


def years_earlier(day: date, years: int) -> date:
    """The same day of an earlier year; 28 February for 29 February of another year."""
    year = min(max(day.year - years, date.min.year), date.max.year)
    return day.replace(year=year, day=min(day.day, calendar.monthrange(year, day.month)[1]))


def days_later(day: date, days: int) -> date:
    """The day that is a number of days later; the first or the last of all days beyond these."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def whole_month(year: int, month: int) -> tuple[date, date]:
    """The first and the last day of a month."""
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
