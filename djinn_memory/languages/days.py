"""Periods in whole days, the names of months and weekdays, and a quick check for words of time.

Pure and cheap to import.
"""

from __future__ import annotations

import calendar
import re
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


MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
WEEKDAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

MONTHS = {name.lower(): number for number, name in enumerate(MONTH_NAMES, start=1)}
"""The numbers of the months, by name."""

SHORT_MONTHS = {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAYS = {name.lower(): number for number, name in enumerate(WEEKDAY_NAMES)}
"""The numbers of the weekdays from Monday, which is 0, by name."""

_KEYWORDS = frozenset({
    "ago", "autumn", "christmas", "day", "days", "easter", "fall", "halloween", "month", "months",
    "new", "night", "morning", "afternoon", "evening", "q1", "q2", "q3", "q4", "quarter", "spring",
    "summer", "thanksgiving", "today", "tomorrow", "tonight", "valentine", "week", "weekend",
    "weeks", "winter", "xmas", "year", "years", "yesterday", *MONTHS, *SHORT_MONTHS, *WEEKDAYS,
})  # fmt: skip
_SIDES = frozenset({"before", "after", "since", "during", "until", "following"})
"""Words before the name of an event that say where a period lies."""

_WORD = re.compile(r"[a-z]+\d?|\d+(?:st|nd|rd|th)|\d{4}|\d+[./]\d")


def has_calendar_words(text: str) -> bool:
    """Whether a text could name a day or a period. It costs microseconds."""
    return any(word in _KEYWORDS or word[0].isdecimal() for word in _WORD.findall(text.lower()))


def has_words_of_time(question: str) -> bool:
    """Whether a question could name a period, or an event before or after which one lies."""
    return has_calendar_words(question) or not _SIDES.isdisjoint(_WORD.findall(question.lower()))
