"""The periods of the calendar that words name: `3 May`, `early June`, `Q2`, `Christmas`. Pure.

Each function takes the match of a pattern in `calendar_words`, today, and whether what is to come
is meant. It returns the period, or None if the words mean something else.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta

from djinn_memory.languages.calendar_word import CalendarWord, Kind, month_number
from djinn_memory.languages.day_window import whole_month


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
    month = month_number(match["month"])
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
    part, month = match["part"].lower(), month_number(match["month"])

    def period(year: int) -> tuple[date, date]:
        first, last = whole_month(year, month)
        if part.startswith(("early", "begin", "start")):
            return first, first.replace(day=10)
        if part.startswith("mid"):
            return first.replace(day=10), first.replace(day=20)
        return first.replace(day=20), last

    return _dated(match, period, today, coming, "month", certain=True)


def named_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    month, name = month_number(match["month"]), match["month"]
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
