"""Reads the day by which something is promised, such as `next Friday`. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from contextlib import suppress
from datetime import date, timedelta

from djinn_memory.languages.calendar_names import MONTHS, WEEKDAYS

_WEEKDAYS = tuple(WEEKDAYS)
_MONTHS = tuple(MONTHS)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS)
_CLOCK = re.compile(
    r"(?:at |around )?(?:noon|midnight|\d{1,2}(?::\d\d)?\s?(?:a\.?m\.?|p\.?m\.?)|\d{1,2}:\d\d"
    r"|(?:in the )?(?:morning|afternoon|evening))"
)
_DAY_MONTH = re.compile(
    rf"(?:the )?(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\.?(?:,? (\d{{4}}))?"
)
_MONTH_DAY = re.compile(rf"({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?")
_DAY = re.compile(r"the (\d{1,2})(?:st|nd|rd|th)")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_END = re.compile(r"(?:the )?end of (?:the |this )?(next )?(day|week|month|year)")
_NEXT = re.compile(r"next (week|month|year)")
_WEEKDAY = re.compile(rf"(?:(this|next|coming|on) )?({'|'.join(_WEEKDAYS)})")
_SPAN = re.compile(r"(\d{1,3}|[a-z]+) (day|week|month)s?(?: from now)?")


def due_day(text: str, today: date) -> date | None:
    """The day that a text names, seen from `today`; None if it names none.

    A week ends on Sunday. `next Friday` is the Friday of the next week. A day without a year is the
    next one.
    """
    words = " ".join(text.lower().strip(" .!").split())
    words = _CLOCK.sub("", words).strip(" ,") if not _CLOCK.fullmatch(words) else "today"
    near = {"today": 0, "tonight": 0, "eod": 0, "tomorrow": 1, "the day after tomorrow": 2}
    with suppress(ValueError, OverflowError):
        if words in near:
            return today + timedelta(days=near[words])
        if match := _ISO.fullmatch(words):
            return date(*map(int, match.groups()))
        if match := _DAY_MONTH.fullmatch(words):
            return _coming(today, match[2], match[1], match[3])
        if match := _MONTH_DAY.fullmatch(words):
            return _coming(today, match[1], match[2], match[3])
        return _relative(words, today)
    return None


def _relative(words: str, today: date) -> date | None:
    if match := _WEEKDAY.fullmatch(words):
        ahead = (_WEEKDAYS.index(match[2]) - today.weekday()) % 7
        if match[1] == "next":
            ahead = 7 - today.weekday() + _WEEKDAYS.index(match[2])
        return today + timedelta(days=ahead)
    if match := _END.fullmatch(words):
        return _end_of(match[2], today, later=bool(match[1]))
    if match := _NEXT.fullmatch(words):
        return _end_of(match[1], today, later=True)
    if match := _DAY.fullmatch(words):
        day = today.replace(day=int(match[1]))
        return (
            day if day >= today else (day.replace(day=1) + timedelta(days=31)).replace(day=day.day)
        )
    if match := _SPAN.fullmatch(words):
        number = int(match[1]) if match[1].isdigit() else _NUMBERS.get(match[1])
        days = {"day": 1, "week": 7, "month": 30}[match[2]]
        return today + timedelta(days=number * days) if number else None
    return None


def _end_of(unit: str, today: date, *, later: bool) -> date:
    if unit == "day":
        return today + timedelta(days=later)
    if unit == "week":
        return today + timedelta(days=6 - today.weekday() + 7 * later)
    if unit == "month":
        first = (today.replace(day=1) + timedelta(days=32 * later)).replace(day=1)
        return first.replace(day=monthrange(first.year, first.month)[1])
    return date(today.year + later, 12, 31)


def _coming(today: date, month: str, day: str, year: str | None) -> date:
    number = next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(month[:3]))
    named = date(int(year or today.year), number, int(day))
    return named if year or named >= today else named.replace(year=today.year + 1)
