"""Reads the day by which something is promised, such as `next Friday`. Pure."""

from __future__ import annotations

import re
from datetime import date

from djinn_memory.languages.date_phrases import named_period

_TODAY = re.compile(
    r"eod|(?:at |around )?(?:noon|midnight|\d{1,2}:\d\d|\d{1,2}(?::\d\d)?\s?[ap]\.?m\.?)"
)
"""Times of today."""
_DISTANCE = re.compile(r"(?:\d{1,3}|[a-z]+) (?:day|week|month|year)s?")


def due_day(text: str, today: date) -> date | None:
    """The day that a text names, seen from `today`; None if it names none.

    Of a longer period it is the last day: of a week its Sunday.
    """
    words = " ".join(text.lower().strip(" .!").split())
    if _TODAY.fullmatch(words):
        return today
    if _DISTANCE.fullmatch(words):
        words = f"in {words}"
    period = named_period(words, today, coming=True)
    return (period.counted or period.last) if period else None
