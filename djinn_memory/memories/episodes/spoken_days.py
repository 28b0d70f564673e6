"""The days that words such as `next Tuesday` mean.

Common forms are computed here, with the results of dateparser, which is slow. Pure.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from djinn_memory.languages.calendar_names import MONTHS, WEEKDAYS

_MONTHS = tuple(name[:3] for name in MONTHS)
_WEEKDAYS = tuple(name[:3] for name in WEEKDAYS)
_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NEAR = {
    "the day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1,
    "the day after tomorrow": 2,
}  # fmt: skip

_PAST = re.compile(r"(?:last|since|during)\s")
_LEADING = re.compile(r"^(?:on|by|until|since|during|this)\s")
_WEEKDAY = re.compile(r"(?:(last|next) )?(mon|tue|wed|thu|fri|sat|sun)[a-z]*day")
_STEP = re.compile(r"(last|next) (week|month|year)")
_DISTANCE = re.compile(r"(in )?(\d{1,3}|[a-z]+) (day|week|month|year)s?( ago)?")
_MONTH = re.compile(r"(?:in )?([a-z]{3,9})")
_MONTH_OF = re.compile(r"([a-z]{3,9}) (\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)? (?:of )?([a-z]{3,9})\.?(?:,? (\d{4}))?")
_DAY_LAST = re.compile(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?")


@lru_cache(maxsize=10_000)
def spoken_day(text: str, base: date) -> str | None:
    """The day that a date in words means, as ISO 8601, relative to `base`.

    What follows `last`, `since` or `during` is past, anything else is to come. None for words that
    mean no day.
    """
    words = " ".join(text.lower().split())
    past = _PAST.match(words) is not None
    words = _LEADING.sub("", words)
    try:
        day = _near(words, base, past) or _in_calendar(words, base, past)
    except (ValueError, OverflowError):
        day = None
    return day.isoformat() if day else _parsed(text, base, past)


def _near(words: str, base: date, past: bool) -> date | None:
    """A day at a distance from today; None for other words."""
    if words in _NEAR:
        return base + timedelta(days=_NEAR[words])
    if match := _WEEKDAY.fullmatch(words):
        ahead = (_WEEKDAYS.index(match[2]) - base.weekday()) % 7
        return base + timedelta(days=(ahead - 7) if past else (ahead or 7))
    if match := _STEP.fullmatch(words):
        return _shifted(base, match[2], -1 if match[1] == "last" else 1)
    if (match := _DISTANCE.fullmatch(words)) and bool(match[1]) != bool(match[4]):
        number = _number(match[2])
        return _shifted(base, match[3], -number if match[4] else number) if number else None
    return None


def _number(word: str) -> int | None:
    if word in ("a", "an"):
        return 1
    return int(word) if word.isdigit() else _NUMBERS.index(word) if word in _NUMBERS else None


def _shifted(base: date, unit: str, number: int) -> date:
    """A day that is a number of units away; for months and years the first of the month."""
    if unit in ("day", "week"):
        return base + timedelta(days=number * (7 if unit == "week" else 1))
    months = base.year * 12 + base.month - 1 + number * (12 if unit == "year" else 1)
    return date(months // 12, months % 12 + 1, 1)


def _in_calendar(words: str, base: date, past: bool) -> date | None:
    """A day or a month of the calendar; None for other words."""
    if match := _MONTH_OF.fullmatch(words):
        month = _month(match[1])
        return date(int(match[2]), month, 1) if month else None
    if match := _DAY_FIRST.fullmatch(words):
        number, name, year = match.groups()
    elif match := _DAY_LAST.fullmatch(words):
        name, number, year = match.groups()
    elif match := _MONTH.fullmatch(words):
        name, number, year = match[1], "1", None
    else:
        return None
    month = _month(name)
    # dateparser knows what a day means that not every year has.
    if not month or not 0 < int(number) <= monthrange(2023, month)[1]:
        return None
    if year:
        return date(int(year), month, int(number))
    day = date(base.year, month, int(number))
    if past:
        return day if day <= base else day.replace(year=base.year - 1)
    return day if day > base else day.replace(year=base.year + 1)


def _month(name: str) -> int | None:
    return _MONTHS.index(name[:3]) + 1 if name[:3] in _MONTHS else None


def _parsed(text: str, base: date, past: bool) -> str | None:
    """As `spoken_day`, by dateparser. It is imported late."""
    from dateparser import parse

    settings = {
        "RELATIVE_BASE": datetime.combine(base, time(12)),
        "PREFER_DATES_FROM": "past" if past else "future",
        "PREFER_DAY_OF_MONTH": "first",
        "DATE_ORDER": "DMY",
    }
    words = re.sub(_LEADING.pattern, "", text, flags=re.IGNORECASE)
    when = parse(words, languages=["en"], settings=settings)
    return when.date().isoformat() if when else None
