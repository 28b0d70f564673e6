"""Reads dates from notes and from user input, and returns ISO text that sorts by time."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from djinn_memory.errors import UsageError

_FORM = re.compile(
    r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"
    r"(?:[T ]+(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)?"
    r" ?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_AGO = re.compile(r"([0-9]{1,5}) ?(d|w|m|y|days?|weeks?|months?|years?)(?: ago)?")

_AHEAD = re.compile(
    r"(?:in )?([0-9]{1,5}) ?(min|minutes?|h|hours?|d|days?|w|weeks?|months?|y|years?)"
)
_UNITS = {
    "mi": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1),
    "w": timedelta(weeks=1), "m": timedelta(days=30), "y": timedelta(days=365),
}  # fmt: skip
_NEAR = {"yesterday": -1, "today": 0, "tomorrow": 1}


def iso_date(text: str | None) -> str | None:
    """`2026-03-04`, or `2026-03-04T10:00:00Z` in UTC; None when `text` is not a date.

    A time without a zone counts as UTC, so that a note means the same on every machine.
    """
    match = _FORM.match(text.strip()) if text else None
    if not match:
        return None
    try:
        day = date(int(match["y"]), int(match["m"]), int(match["d"]))
        if not match["h"]:
            return day.isoformat()
        zone = (match["zone"] or "Z").replace("Z", "+00:00")
        clock = f"{int(match['h']):02}:{match['min']}:{match['s'] or '00'}"
        return moment(datetime.fromisoformat(f"{day}T{clock}{zone}"))
    except (ValueError, OverflowError):
        return None


def spoken_date(text: str, now: datetime) -> str | None:
    """Parse a past date in user input: ISO, `today`, `yesterday`, `30d`, `2 weeks`, `2026-03`.

    Days are in the time zone of `now`.
    """
    text = text.strip().lower()
    if re.fullmatch(r"[0-9]{4}(-(0[1-9]|1[0-2]))?", text):
        return text
    return None if text == "tomorrow" else _relative(text, now, _AGO, -1)


def coming_date(text: str, now: datetime) -> str | None:
    """Parse a future day or time in user input: ISO, `tomorrow`, `30d`, `2 weeks`, `12h`.

    Days return a day in the time zone of `now`; hours and minutes return a time in UTC. ISO dates
    and `yesterday` may be in the past. `5m` is not accepted, because it may mean minutes or months.
    """
    return _relative(text.strip().lower(), now, _AHEAD, 1)


def _relative(text: str, now: datetime, distance: re.Pattern[str], sign: int) -> str | None:
    """A date that is named, relative to `now`, or exact."""
    if text in _NEAR:
        return (now + timedelta(days=_NEAR[text])).date().isoformat()
    if match := distance.fullmatch(text):
        unit = _UNITS.get(match[2][:2]) or _UNITS[match[2][0]]
        with suppress(OverflowError):
            then = now + sign * int(match[1]) * unit
            return moment(then) if unit < timedelta(days=1) else then.date().isoformat()
    exact = text.upper()
    return iso_date(exact) if _FORM.fullmatch(exact) else None


def date_field(field: str, text: str | None, now: datetime, *, past: bool = False) -> str | None:
    """The `coming_date` in the text of a request's field; None for a field without text.

    Raises `UsageError` for text that is not a date, and for a past day unless `past` is set.
    """
    if not text:
        return None
    when = coming_date(text, now.astimezone())
    if not when:
        raise UsageError(
            f"{text}: not a date; write 2026-12-31, tomorrow, or a time from now: "
            "90min, 12h, 30d, 2w, 6months, 1y",
            argument=field,
        )
    at = moment(now)
    if not past and when < (at if "T" in when else local_day(at)):
        raise UsageError(f"{text}: the date is in the past; give a future date", argument=field)
    return when


def over(text: str | None, now: datetime) -> bool:
    """Whether a time is past, or a day has ended in the time zone of this machine.

    False when `text` is not a date.
    """
    until, at = iso_date(text), moment(now)
    return until is not None and (until <= at if "T" in until else until < local_day(at))


def local_day(at: str) -> str:
    """The day of a time in UTC, in the time zone of this machine. A day stays as it is."""
    if "T" not in at:
        return at
    try:
        return datetime.fromisoformat(at).astimezone().date().isoformat()
    except (ValueError, OverflowError):
        return at[:10]


def local_minute(at: str) -> str:
    """The local day and time of an ISO time, such as `2026-05-04 09:30`."""
    with suppress(ValueError, OverflowError):
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}"
    return at


def day_begins(day: str) -> str:
    """The first second of a day in the time zone of this machine, as a time in UTC."""
    with suppress(ValueError, OverflowError):
        return moment(datetime.fromisoformat(day).astimezone())
    return f"{day}T00:00:00Z"


def day_ends(day: str) -> str:
    """The last second of a day in the time zone of this machine, as a time in UTC."""
    with suppress(ValueError, OverflowError):
        return moment(datetime.fromisoformat(f"{day}T23:59:59").astimezone())
    return f"{day}T23:59:59Z"


def moment(now: datetime) -> str:
    """A time in the format of front matter: UTC, to the second."""
    return f"{now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
