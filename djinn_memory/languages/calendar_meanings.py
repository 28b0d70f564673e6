"""The periods that words name: `3 May`, `early June`, `Christmas`, `two weeks ago`. Pure.

Each function takes the match of a pattern in `date_phrases`, today, and whether what is to come
is meant. It returns the period, or None if the words mean something else.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal

from msgspec import Struct

from djinn_memory.languages.days import (
    MONTHS,
    SHORT_MONTHS,
    WEEKDAYS,
    days_later,
    whole_month,
)

NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
         "twelve"),
        start=1,
    )
} | {"a": 1, "an": 1, "the": 1}  # fmt: skip

Kind = Literal["day", "month", "year", "season", "holiday", "past", "coming"]


class CalendarWord(Struct, frozen=True):
    """Words in a text that name a period."""

    start: int
    stop: int
    first: date
    last: date
    kind: Kind
    yearly: bool = False
    """Whether no year was named, so that the words could mean the same days of another year."""
    certain: bool = True
    """Whether the words mean a date wherever they occur. `May` alone does not."""
    counted: date | None = None
    """The day at exactly the distance that was said; its period is wider."""

    @property
    def span(self) -> tuple[int, int]:
        """Its position in the text."""
        return self.start, self.stop


def _month_number(name: str) -> int:
    """The number of a month from its name or the short form of it."""
    name = name.lower().rstrip(".")
    return MONTHS.get(name) or SHORT_MONTHS[name]


def number(text: str) -> int:
    """A number in digits or as a word up to twelve."""
    return NUMBERS.get(text.lower()) or int(text)


def _easter(year: int) -> date:
    """Easter Sunday, by the anonymous Gregorian algorithm."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def _thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


HOLIDAYS: dict[str, Callable[[int], tuple[date, date]]] = {
    "christmas eve": lambda year: (date(year, 12, 24), date(year, 12, 24)),
    "christmas": lambda year: (date(year, 12, 24), date(year, 12, 26)),
    "xmas": lambda year: (date(year, 12, 24), date(year, 12, 26)),
    "new year's eve": lambda year: (date(year, 12, 31), date(year, 12, 31)),
    "new year": lambda year: (date(year, 1, 1), date(year, 1, 1)),
    "halloween": lambda year: (date(year, 10, 31), date(year, 10, 31)),
    "valentine's": lambda year: (date(year, 2, 14), date(year, 2, 14)),
    "thanksgiving": lambda year: (_thanksgiving(year), _thanksgiving(year) + timedelta(days=3)),
    "easter": lambda year: (
        _easter(year) - timedelta(days=2),
        _easter(year) + timedelta(days=1),
    ),
}
"""By name: the first and the last day in a year."""


def _of_recent_year(
    period: Callable[[int], tuple[date, date]], which: str, today: date, coming: bool
) -> tuple[date, date]:
    """The period of the year that is meant: the most recent one, unless it is the coming one."""
    if which.startswith(("this", "current")):
        return period(today.year)
    if which in ("next", "coming"):
        return next(p for y in range(today.year - 1, today.year + 2) if (p := period(y))[0] > today)
    if coming and not which:
        return next(
            p for y in range(today.year - 1, today.year + 3) if (p := period(y))[1] >= today
        )
    years = range(today.year + 1, today.year - 9, -1)
    if which:
        return next(p for y in years if (p := period(y))[1] < today)
    return next(p for y in years if (p := period(y))[0] <= today)


def _dated(
    match: re.Match[str],
    period: Callable[[int], tuple[date, date]],
    today: date,
    coming: bool,
    kind: Kind,
    *,
    certain: bool = True,
) -> CalendarWord:
    """The period of the year that a match names, or of the most recent one."""
    groups = match.groupdict()
    year, which_year = groups.get("year"), groups.get("whichyear")
    which = (groups.get("which") or "").lower()
    if which_year:
        year = str(today.year + {"last": -1, "this": 0, "next": 1}[which_year.lower()])
    if year:
        first, last = period(int(year))
    else:
        first, last = _of_recent_year(period, which, today, coming)
    named = bool(year or which)
    return CalendarWord(*match.span(), first, last, kind, not named, certain or named)


def iso_day(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    day = date(int(match["y"]), int(match["m"]), int(match["d"]))
    return CalendarWord(*match.span(), day, day, "day")


def dotted_day(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    day = date(int(match["y"]), int(match["b"]), int(match["a"]))
    return CalendarWord(*match.span(), day, day, "day")


def slashed_day(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    first, second = int(match["a"]), int(match["b"])
    if first <= 12 and second <= 12 and first != second:
        # The day or the month could come first.
        return None
    month, day = (second, first) if first > 12 else (first, second)
    when = date(int(match["y"]), month, day)
    return CalendarWord(*match.span(), when, when, "day")


def iso_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    window = whole_month(int(match["y"]), int(match["m"]))
    return CalendarWord(*match.span(), *window, "month", certain=False)


def day_of_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    month = _month_number(match["month"])
    begin, end = int(match["d"]), int(match["to"] or match["d"])
    if not 1 <= begin <= end <= calendar.monthrange(2024, month)[1]:
        return None
    name, marked = match["month"], match["nth"] or match["year"] or match["whichyear"]
    if name.lower() in ("may", "march", "mar") and not marked and name == name.lower():
        return None
    if name == "May" and not marked and match.start("month") == 0:
        # "May 2 people share a vault?" is a question for permission.
        return None

    def period(year: int) -> tuple[date, date]:
        longest = calendar.monthrange(year, month)[1]
        return date(year, month, min(begin, longest)), date(year, month, min(end, longest))

    return _dated(match, period, today, coming, "day")


def part_of_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    part, month = match["part"].lower(), _month_number(match["month"])

    def period(year: int) -> tuple[date, date]:
        first, last = whole_month(year, month)
        if part.startswith(("early", "begin", "start")):
            return first, first.replace(day=10)
        if part.startswith("mid"):
            return first.replace(day=10), first.replace(day=20)
        return first.replace(day=20), last

    return _dated(match, period, today, coming, "month", certain=True)


def named_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    month, name = _month_number(match["month"]), match["month"]
    if name in ("may", "march") and (match["which"] or "").lower() in ("this", "past", "current"):
        return None
    return _dated(
        match, lambda year: whole_month(year, month), today, coming, "month", certain=False
    )


def quarter(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    nth = match["q"] or str(("first", "second", "third", "fourth").index(match["nth"].lower()) + 1)
    first = 3 * int(nth) - 2

    def period(year: int) -> tuple[date, date]:
        return whole_month(year, first)[0], whole_month(year, first + 2)[1]

    return _dated(match, period, today, coming, "month", certain=False)


def season(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    name = match["season"].lower()
    first = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[name]
    named = match["which"] or match["year"] or match["whichyear"]
    if not named and name in ("fall", "spring") and not match["the"]:
        return None

    def period(year: int) -> tuple[date, date]:
        end = first + 2
        return date(year, first, 1), whole_month(year + (end > 12), end - 12 * (end > 12))[1]

    return _dated(match, period, today, coming, "season", certain=False)


def holiday(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    name = re.sub(r"\s+", " ", match["holiday"].lower().replace("\u2019", "'"))
    key = next(key for key in HOLIDAYS if name.startswith(key.removesuffix("'s")))
    if name.startswith("new year") and name.endswith("eve"):
        key = "new year's eve"
    return _dated(match, HOLIDAYS[key], today, coming, "holiday", certain=False)


def named_year(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    year = int(match["year"])
    first, last = date(year, 1, 1), date(year, 12, 31)
    return CalendarWord(*match.span(), first, last, "year", certain=False)


_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SLACK = {1: 0, 7: 3, 30: 15, 365: 120}
"""Days by which a distance in such units may be wrong: nobody counts those of three weeks ago."""


def near_day(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    words = " ".join(match[0].lower().split())
    if words == "the other day":
        return _past(match, today - timedelta(days=7), today - timedelta(days=1))
    away = 0
    if "before yesterday" in words:
        away = -2
    elif "yesterday" in words or words == "last night":
        away = -1
    elif "after tomorrow" in words:
        away = 2
    elif "tomorrow" in words:
        away = 1
    day = today + timedelta(days=away)
    return CalendarWord(*match.span(), day, day, "past" if away <= 0 else "coming")


def _past(
    match: re.Match[str], first: date, last: date, counted: date | None = None
) -> CalendarWord:
    return CalendarWord(*match.span(), first, last, "past", counted=counted)


_LOOSE = {"couple": (1, 3), "few": (2, 6), "several": (2, 9)}
"""What a vague number of units ago means, at least and at most."""


def ago(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    unit = match["unit"].lower()
    if unit in ("hour", "minute"):
        return _past(match, today - timedelta(days=unit == "hour"), today)
    days = _DAYS[unit]
    if loose := match["loose"]:
        least, most = _LOOSE[loose.lower()]
        first, last, counted = most * days, least * days, None
    else:
        distance, slack = number(match["number"]) * days, _SLACK[days]
        first, last, counted = distance + slack, max(distance - slack, 1), _back(today, distance)
    return _past(match, _back(today, first), _back(today, last), counted)


def _back(today: date, days: int) -> date:
    return today - timedelta(days=min(days, (today - date.min).days))


def ahead(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    """`In two weeks`: only of what is to come. "What did I learn in two weeks" names no day."""
    if not coming or not (match["now"] or match[0].lower().startswith("in")):
        return None
    days = _DAYS[match["unit"].lower()]
    distance, slack = number(match["number"]) * days, _SLACK[days]
    day = today + timedelta(days=distance)
    first, last = max(days_later(day, -slack), today), days_later(day, slack)
    return CalendarWord(*match.span(), first, last, "coming", counted=day)


def end_of(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    """`The end of the month`. Without `last` or `next`, only of what is to come.

    "At the end of the day" is mostly a phrase.
    """
    which, unit = (match["which"] or "").lower(), match["unit"].lower()
    if not (which or coming):
        return None
    step = {"last": -1, "next": 1}.get(which, 0)
    if unit == "day":
        first, last = today, today
    else:
        last = _unit(unit, step, today)[1]
        first = days_later(last, {"week": -2, "month": -9, "quarter": -13, "year": -30}[unit])
    return CalendarWord(*match.span(), first, last, "past" if step < 0 else "coming")


def relative_unit(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    which, unit = match["which"].lower(), match["unit"].lower()
    step = 1 if which in ("next", "coming") else 0 if which in ("this", "current") else -1
    kind: Kind = "coming" if step > 0 else "past"
    if which == "past" and unit != "weekend":
        return _past(match, _back(today, _DAYS.get(unit, 91)), today)
    return CalendarWord(*match.span(), *_unit(unit, step, today), kind)


def _unit(unit: str, step: int, today: date) -> tuple[date, date]:
    """The first and the last day of this week, or of one that is a number of weeks away."""
    monday = today - timedelta(days=today.weekday())
    if unit == "week":
        first = monday + timedelta(weeks=step)
        return first, first + timedelta(days=6)
    if unit == "weekend":
        # On a Saturday or Sunday "this weekend" has begun; on a Monday it may be the one before.
        first = monday + timedelta(weeks=step, days=5)
        return first, first + timedelta(days=1)
    if unit == "month":
        at = 12 * today.year + today.month - 1 + step
        return whole_month(at // 12, at % 12 + 1)
    if unit == "quarter":
        at = 4 * today.year + (today.month - 1) // 3 + step
        first = date(at // 4, at % 4 * 3 + 1, 1)
        return first, whole_month(first.year, first.month + 2)[1]
    return date(today.year + step, 1, 1), date(today.year + step, 12, 31)


def last_units(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    days = _DAYS[match["unit"].lower()]
    loose = match["loose"]
    count = _LOOSE[loose.lower()][1] if loose else number(match["number"])
    if match["which"].lower() in ("next", "coming"):
        last = today + timedelta(days=count * days)
        return CalendarWord(*match.span(), today, last, "coming")
    return _past(match, _back(today, count * days), today)


def weekday(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    wanted, which = WEEKDAYS[match["weekday"].lower()], (match["which"] or "").lower()
    if week := match["week"]:
        step = {"last": -1, "this": 0, "next": 1}[week.lower()]
        day = today + timedelta(weeks=step, days=wanted - today.weekday())
        return CalendarWord(*match.span(), day, day, "day")
    ahead = wanted - today.weekday()
    if which == "this":
        # "I will do it this Monday", said on a Friday, means the coming one.
        day = today + timedelta(days=ahead % 7 if coming else ahead)
    elif which == "next":
        # As in "next week", so that on a Monday "next Friday" is not the one of "this Friday".
        day = today + timedelta(days=ahead + 7)
    elif which == "coming" or (coming and not which):
        day = today + timedelta(days=ahead % 7 or 7)
    else:
        day = today - timedelta(days=(today.weekday() - wanted) % 7 or 7)
    return CalendarWord(*match.span(), day, day, "day", certain=bool(which or match["part"]))


def nth_of_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    month = 12 * today.year + today.month - 1
    which, passed = (match["which"] or "").lower(), int(match["d"]) < today.day
    month += {"last": -1, "next": 1}.get(which, 0)
    if not which and coming and passed:
        month += 1
    elif not which and not coming and int(match["d"]) > today.day:
        month -= 1
    day = date(month // 12, month % 12 + 1, int(match["d"]))
    return CalendarWord(*match.span(), day, day, "day")
