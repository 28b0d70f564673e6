"""Dates as notes and people write them, as ISO text that sorts by time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_FORM = re.compile(
    r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"
    r"(?:[T ]+(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)?"
    r" ?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_AGO = re.compile(r"([0-9]{1,5}) ?(d|w|m|y|days?|weeks?|months?|years?)(?: ago)?")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AHEAD = re.compile(
    r"(?:in )?([0-9]{1,5}) ?(min|minutes?|h|hours?|d|days?|w|weeks?|months?|y|years?)"
)
_UNITS = {
    "mi": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1),
    "w": timedelta(weeks=1), "mo": timedelta(days=30), "y": timedelta(days=365),
}  # fmt: skip
_NEAR = {"yesterday": -1, "today": 0, "tomorrow": 1}


def iso_date(text: str | None) -> str | None:
    """`2026-03-04`, or `2026-03-04T10:00:00Z` in UTC; None for what is no date.

    A time without a zone is taken as UTC, so that a note means the same on every machine.
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
    """A date as a person gives it: ISO, `today`, `yesterday`, `30d`, `2 weeks`, `2026-03`.

    Days are those of the zone of `now`.
    """
    iso = text.strip().upper()
    text = iso.lower()
    if text in ("today", "yesterday"):
        return (now - timedelta(days=text == "yesterday")).date().isoformat()
    if ago := _AGO.fullmatch(text):
        try:
            return (now - timedelta(days=int(ago[1]) * _DAYS[ago[2][0]])).date().isoformat()
        except OverflowError:
            return None
    if re.fullmatch(r"[0-9]{4}(-(0[1-9]|1[0-2]))?", text):
        return text
    return iso_date(iso) if _FORM.fullmatch(iso) else None


def coming_date(text: str, now: datetime) -> str | None:
    """A day or time to come as a person gives it: ISO, `tomorrow`, `30d`, `2 weeks`, `12h`.

    What is given in days is a day of the zone of `now`, what is given in hours a time in UTC. ISO
    and `yesterday` may be past; `5m` is none, for it may be minutes or months.
    """
    iso = text.strip().upper()
    text = iso.lower()
    if text in _NEAR:
        return (now + timedelta(days=_NEAR[text])).date().isoformat()
    if ahead := _AHEAD.fullmatch(text):
        unit = _UNITS[ahead[2][:2] if ahead[2][0] == "m" else ahead[2][0]]
        try:
            then = now + int(ahead[1]) * unit
        except OverflowError:
            return None
        return moment(then) if unit < timedelta(days=1) else then.date().isoformat()
    return iso_date(iso) if _FORM.fullmatch(iso) else None


def over(text: str | None, now: datetime) -> bool:
    """Whether a day or time is past; a day is when it is over, in UTC. What is no date never is."""
    until, at = iso_date(text), moment(now)
    return until is not None and (until <= at if "T" in until else until < at[:10])


def moment(now: datetime) -> str:
    """A time as front matter holds it: UTC, in seconds."""
    return f"{now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
