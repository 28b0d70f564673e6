"""The words in English text that name a period: `3 May`, `early June`, `two weeks ago`. Pure.

The meaning of a pattern is a function of its match, of today, and of whether a period to come is
meant. It returns the period, or None if the words mean something else.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Literal

from msgspec import Struct

from djinn_memory.languages.days import (
    MONTHS,
    SHORT_MONTHS,
    WEEKDAYS,
    days_later,
    has_calendar_words,
)

_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a": 1, "an": 1, "the": 1,
}  # fmt: skip

UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
UNIT_SLACK = {"day": 0, "week": 3, "month": 15, "year": 120}
"""Days by which a distance in such units may be wrong: nobody counts the days of three weeks."""

_STEPS = {"last": -1, "this": 0, "next": 1}

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


def _month_number(name: str) -> int:
    """The number of a month from its name or the short form of it."""
    name = name.lower().rstrip(".")
    return MONTHS.get(name) or SHORT_MONTHS[name]


def number(text: str) -> int:
    """A number in digits or as a word up to twelve."""
    return _NUMBERS.get(text.lower()) or int(text)


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
    "easter": lambda year: (_easter(year) - timedelta(days=2), _easter(year) + timedelta(days=1)),
}
"""By name: the first and the last day in a year."""


def _of_recent_year(
    period: Callable[[int], tuple[date, date]], which: str, today: date, coming: bool
) -> tuple[date, date]:
    """The period of the year that is meant: the most recent one, unless it is the coming one."""
    if which.startswith(("this", "current")):
        return period(today.year)
    later = map(period, range(today.year - 1, today.year + 3))
    earlier = map(period, range(today.year + 1, today.year - 9, -1))
    if which in ("next", "coming"):
        return next(days for days in later if days[0] > today)
    if coming and not which:
        return next(days for days in later if days[1] >= today)
    if which:
        return next(days for days in earlier if days[1] < today)
    return next(days for days in earlier if days[0] <= today)


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
        year = str(today.year + _STEPS[which_year.lower()])
    if year:
        first, last = period(int(year))
    else:
        first, last = _of_recent_year(period, which, today, coming)
    named = bool(year or which)
    return CalendarWord(*match.span(), first, last, kind, not named, certain or named)


def _full_date(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    day = date(int(match["y"]), int(match["m"]), int(match["d"]))
    return CalendarWord(*match.span(), day, day, "day")


def _slashed_day(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    first, second = int(match["a"]), int(match["b"])
    if first <= 12 and second <= 12 and first != second:
        # The day or the month could come first.
        return None
    month, day = (second, first) if first > 12 else (first, second)
    when = date(int(match["y"]), month, day)
    return CalendarWord(*match.span(), when, when, "day")


def _iso_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    window = _whole_month(int(match["y"]), int(match["m"]))
    return CalendarWord(*match.span(), *window, "month", certain=False)


def _whole_month(year: int, month: int) -> tuple[date, date]:
    """The first and the last day of a month."""
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _day_of_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
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


def _part_of_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    part, month = match["part"].lower(), _month_number(match["month"])

    def period(year: int) -> tuple[date, date]:
        first, last = _whole_month(year, month)
        if part.startswith(("early", "begin", "start")):
            return first, first.replace(day=10)
        if part.startswith("mid"):
            return first.replace(day=10), first.replace(day=20)
        return first.replace(day=20), last

    return _dated(match, period, today, coming, "month")


def _named_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    month, name = _month_number(match["month"]), match["month"]
    if name in ("may", "march") and (match["which"] or "").lower() in ("this", "past", "current"):
        return None
    return _dated(
        match, lambda year: _whole_month(year, month), today, coming, "month", certain=False
    )


def _quarter(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    nth = match["q"] or str(("first", "second", "third", "fourth").index(match["nth"].lower()) + 1)
    first = 3 * int(nth) - 2

    def period(year: int) -> tuple[date, date]:
        return _whole_month(year, first)[0], _whole_month(year, first + 2)[1]

    return _dated(match, period, today, coming, "month", certain=False)


def _season(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    name = match["season"].lower()
    first = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[name]
    named = match["which"] or match["year"] or match["whichyear"]
    if not named and name in ("fall", "spring") and not match["the"]:
        return None

    def period(year: int) -> tuple[date, date]:
        end = first + 2
        return date(year, first, 1), _whole_month(year + (end > 12), end - 12 * (end > 12))[1]

    return _dated(match, period, today, coming, "season", certain=False)


def _holiday(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    name = re.sub(r"\s+", " ", match["holiday"].lower().replace("\u2019", "'"))
    key = next(key for key in HOLIDAYS if name.startswith(key.removesuffix("'s")))
    if name.startswith("new year") and name.endswith("eve"):
        key = "new year's eve"
    return _dated(match, HOLIDAYS[key], today, coming, "holiday", certain=False)


def _named_year(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    year = int(match["year"])
    first, last = date(year, 1, 1), date(year, 12, 31)
    return CalendarWord(*match.span(), first, last, "year", certain=False)


_NEAR_DAYS = {
    "before yesterday": -2, "yesterday": -1, "last night": -1, "after tomorrow": 2, "tomorrow": 1,
}  # fmt: skip
"""Days from today. The first of these that the words contain counts."""


def _near_day(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    words = " ".join(match[0].lower().split())
    if words == "the other day":
        return _past(match, today - timedelta(days=7), today - timedelta(days=1))
    away = next((days for near, days in _NEAR_DAYS.items() if near in words), 0)
    day = today + timedelta(days=away)
    return CalendarWord(*match.span(), day, day, "past" if away <= 0 else "coming")


def _past(
    match: re.Match[str], first: date, last: date, counted: date | None = None
) -> CalendarWord:
    return CalendarWord(*match.span(), first, last, "past", counted=counted)


_VAGUE_NUMBERS = {"couple": (1, 3), "few": (2, 6), "several": (2, 9)}
"""The least and the most units that a vague number of them means."""


def _ago(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    unit = match["unit"].lower()
    if unit in ("hour", "minute"):
        return _past(match, today - timedelta(days=unit == "hour"), today)
    days = UNIT_DAYS[unit]
    if vague := match["vague"]:
        least, most = _VAGUE_NUMBERS[vague.lower()]
        first, last, counted = most * days, least * days, None
    else:
        distance, slack = number(match["number"]) * days, UNIT_SLACK[unit]
        first, last, counted = distance + slack, max(distance - slack, 1), _back(today, distance)
    return _past(match, _back(today, first), _back(today, last), counted)


def _back(today: date, days: int) -> date:
    return today - timedelta(days=min(days, (today - date.min).days))


def _ahead(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    """`In two weeks`: the future alone. "What did I learn in two weeks" names no day."""
    if not coming or not (match["now"] or match[0].lower().startswith("in")):
        return None
    unit = match["unit"].lower()
    distance, slack = number(match["number"]) * UNIT_DAYS[unit], UNIT_SLACK[unit]
    day = today + timedelta(days=distance)
    first, last = max(days_later(day, -slack), today), days_later(day, slack)
    return CalendarWord(*match.span(), first, last, "coming", counted=day)


def _end_of(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    """`The end of the month`. Without `last` or `next` it means the future alone.

    "At the end of the day" is mostly a phrase.
    """
    which, unit = (match["which"] or "").lower(), match["unit"].lower()
    if not (which or coming):
        return None
    step = _STEPS.get(which, 0)
    if unit == "day":
        first, last = today, today
    else:
        last = _unit(unit, step, today)[1]
        first = days_later(last, {"week": -2, "month": -9, "quarter": -13, "year": -30}[unit])
    return CalendarWord(*match.span(), first, last, "past" if step < 0 else "coming")


def _relative_unit(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    which, unit = match["which"].lower(), match["unit"].lower()
    step = 1 if which in ("next", "coming") else 0 if which in ("this", "current") else -1
    kind: Kind = "coming" if step > 0 else "past"
    if which == "past" and unit != "weekend":
        return _past(match, _back(today, UNIT_DAYS.get(unit, 91)), today)
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
        return _whole_month(at // 12, at % 12 + 1)
    if unit == "quarter":
        at = 4 * today.year + (today.month - 1) // 3 + step
        first = date(at // 4, at % 4 * 3 + 1, 1)
        return first, _whole_month(first.year, first.month + 2)[1]
    return date(today.year + step, 1, 1), date(today.year + step, 12, 31)


def _last_units(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    days = UNIT_DAYS[match["unit"].lower()]
    vague = match["vague"]
    count = _VAGUE_NUMBERS[vague.lower()][1] if vague else number(match["number"])
    if match["which"].lower() in ("next", "coming"):
        last = today + timedelta(days=count * days)
        return CalendarWord(*match.span(), today, last, "coming")
    return _past(match, _back(today, count * days), today)


def _weekday(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    wanted, which = WEEKDAYS[match["weekday"].lower()], (match["which"] or "").lower()
    if week := match["week"]:
        step = _STEPS[week.lower()]
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


def _nth_of_month(match: re.Match[str], today: date, coming: bool) -> CalendarWord | None:
    month = 12 * today.year + today.month - 1
    which, passed = (match["which"] or "").lower(), int(match["d"]) < today.day
    month += _STEPS.get(which, 0)
    if not which and coming and passed:
        month += 1
    elif not which and not coming and int(match["d"]) > today.day:
        month -= 1
    day = date(month // 12, month % 12 + 1, int(match["d"]))
    return CalendarWord(*match.span(), day, day, "day")


_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|(?:{'|'.join(reversed(SHORT_MONTHS))})\b\.?)"
_FULL_MONTH = rf"(?P<month>{'|'.join(MONTHS)})\b"
_YEAR = r"(?P<year>(?:199|20\d)\d)(?!\d|[.:-]\d)"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"
NUMBER = rf"(?:\d{{1,3}}|an?|{'|'.join(_NUMBERS)})"
_WHICH = r"(?P<which>last|this(?:\s+past)?|next|past|previous|coming|current)"
_PART = r"\s+(?:morning|noon|afternoon|evening|night)"
_ITS_YEAR = (
    r"(?:,?\s+(?:of\s+)?(?:(?P<year>(?:1[5-9]|20)\d\d)(?!\d|[.:-]\d)"
    r"|(?P<whichyear>last|this|next)\s+year))"
)
_NO_YEAR = r"(?!,?\s+(?:of\s+)?\d{4})"
_OF_YEAR = rf"(?:{_ITS_YEAR}|{_NO_YEAR})"
"""The year of a day or month, if it has one. Before another number as long, nothing is named."""

_SEPARATOR = r"\s?[-\u2013]\s?|\s+(?:to|and|until|through)\s+"
_NTH = r"(?P<nth>st|nd|rd|th)?"
_UNITS = r"(?P<unit>day|week|month|year)s?"
_VAGUE = rf"(?:(?P<number>{NUMBER})|(?:an?\s+)?(?P<vague>couple|few|several)(?:\s+of)?)"

_PATTERNS = [
    (r"(?<![\d.-])(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?![\d-])", _full_date),
    (r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>(?:19|20)\d\d)(?![\d.])",
     _full_date),
    (r"(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>(?:19|20)\d\d)(?![\d/])", _slashed_day),
    (r"(?<![\d.-])(?P<y>(?:199|20\d)\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])", _iso_month),
    (rf"(?<![\d.,:-])(?P<d>\d{{1,2}})(?:(?:{_SEPARATOR})(?P<to>\d{{1,2}}))?{_NTH}\s+(?:of\s+)?"
     rf"{_MONTH}\b{_OF_YEAR}", _day_of_month),
    (rf"\b{_MONTH}\s+(?P<d>\d{{1,2}}){_NTH}(?:(?:{_SEPARATOR})(?P<to>\d{{1,2}})(?:st|nd|rd|th)?)?"
     rf"\b(?!\s?(?:%|[ap]\.?m\b)|[.:]\d){_OF_YEAR}", _day_of_month),
    (rf"\b(?P<part>early|mid|late|(?:the\s+)?(?:beginning|start|middle|end)\s+of)[\s-]"
     rf"{_FULL_MONTH}{_OF_YEAR}", _part_of_month),
    (rf"\b(?:{_WHICH}\s+)?{_FULL_MONTH}{_OF_YEAR}", _named_month),
    (rf"\b(?P<month>{'|'.join(reversed(SHORT_MONTHS))})\b\.?(?P<which>){_ITS_YEAR}",
     _named_month),
    (rf"(?:(?<=\bin )|(?<=\bsince )|(?<=\buntil )|(?<=\bduring )|\b(?P<which>last|next)\s+)"
     rf"(?P<month>(?-i:{'|'.join(name.capitalize() for name in reversed(SHORT_MONTHS))}))\b\.?"
     rf"{_NO_YEAR}",
     _named_month),
    (rf"\b(?:Q(?P<q>[1-4])|(?:the\s+)?(?P<nth>first|second|third|fourth)\s+quarter)\b{_OF_YEAR}",
     _quarter),
    (rf"\b(?:{_WHICH}\s+|(?P<the>the\s+))?(?P<season>spring|summer|autumn|fall|winter)\b"
     rf"(?!\s+of\s+(?!\d|last|this)){_OF_YEAR}", _season),
    (rf"\b(?:{_WHICH}\s+)?(?P<holiday>christmas(?:\s+(?:eve|day))?|xmas|halloween|thanksgiving|easter"
     rf"|new\s+year(?:['\u2019]?s)?(?:\s+(?:eve|day))?|valentine['\u2019]?s(?:\s+day)?)\b{_OF_YEAR}",
     _holiday),
    (r"\bthe\s+day\s+(?:before\s+yesterday|after\s+tomorrow)\b|\bthe\s+other\s+day\b|\blast\s+night\b"
     rf"|\b(?:yesterday|tomorrow)(?:{_PART})?\b|\bearlier\s+today\b|(?<!in )\btoday\b(?!['\u2019]s)"
     r"|\btonight\b|\bthis\s+(?:morning|afternoon|evening)\b", _near_day),
    (rf"\b{_VAGUE}\s+(?P<unit>day|week|month|year|hour|minute)s?\s+ago\b", _ago),
    (rf"\b(?:in\s+)?(?P<number>{NUMBER})\s+{_UNITS}(?P<now>\s+from\s+now)?\b", _ahead),
    (r"\b(?:the\s+)?end\s+of\s+(?:the\s+|this\s+|(?P<which>last|next)\s+)?"
     r"(?P<unit>day|week|month|quarter|year)\b(?!['\u2019])", _end_of),
    (rf"\b(?:the\s+)?(?P<which>last|past|previous|next|coming)\s+{_VAGUE}\s+{_UNITS}\b",
     _last_units),
    (r"\bthe\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b(?:\s+of\s+(?P<which>last|this|next)\s+month"
     r"|(?=\s*[?.!,;]|\s*$))", _nth_of_month),
    (rf"\b(?:{_WHICH}\s+)?{_WEEKDAY}\b(?!{_PART}s\b)(?P<part>{_PART})?"
     r"(?:,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?", _weekday),
    (rf"\b{_WHICH}\s+(?P<unit>week|weekend|month|quarter|year)\b", _relative_unit),
    (rf"(?<![\w.$\u20ac\u00a3:/#-]){_YEAR}(?![\w%/-])", _named_year),
]  # fmt: skip

_COMPILED = [(re.compile(pattern, re.IGNORECASE), meaning) for pattern, meaning in _PATTERNS]


def calendar_words(text: str, today: date, *, coming: bool = False) -> list[CalendarWord]:
    """The words that name a day or a period, in the order of the text, without overlaps.

    Relative words count from `today`. A month or a day without a year is the most recent one;
    with `coming`, the next one. A week begins on Monday: `next Friday` is the Friday of the next
    week, on every day of this one; `Friday` and `coming Friday` are the nearest to come, and `last
    Friday` is the most recent.
    """
    return sorted(_words(text, today, coming), key=lambda word: word.start)


def _words(text: str, today: date, coming: bool) -> Iterator[CalendarWord]:
    if not has_calendar_words(text):
        return
    used = bytearray(len(text))
    for pattern, meaning in _COMPILED:
        for match in pattern.finditer(text):
            start, stop = match.span()
            if any(used[start:stop]):
                continue
            try:
                word = meaning(match, today, coming)
            except (ValueError, OverflowError, StopIteration):
                # No such day, such as 31 June, or none in the calendar of `date`.
                continue
            if word:
                used[start:stop] = b"\1" * (stop - start)
                yield word
