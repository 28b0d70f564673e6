"""Writes a number with its noun in the singular or the plural, and reads durations such as `2w`."""

from __future__ import annotations

import re
from datetime import timedelta


def count(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


_DURATION = re.compile(r"(\d{1,4})\s*([dwy])")

_DAYS = {"d": 1, "w": 7, "y": 365}


def duration(text: str) -> timedelta:
    """The duration of a number of days (d), weeks (w) or years of 365 days (y).

    Raises `ValueError` for any other text.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return timedelta(days=int(match[1]) * _DAYS[match[2]])
