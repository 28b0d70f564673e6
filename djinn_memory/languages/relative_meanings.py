"""The periods that words mean relative to today: `next Friday`, `two weeks ago`. Pure.

The functions are like those in `calendar_meanings`.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from djinn_memory.languages.calendar_names import WEEKDAYS
from djinn_memory.languages.calendar_word import CalendarWord, Kind, number
from djinn_memory.languages.day_window import days_later, whole_month

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
