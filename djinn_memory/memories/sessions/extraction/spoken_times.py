"""Writes relative times in a sentence as dates: `last Saturday` becomes `on 2023-05-20`. Pure."""

from __future__ import annotations

import re
from datetime import date, timedelta

from djinn_memory.languages.calendar_words import CalendarWord, calendar_words
from djinn_memory.languages.days import WEEKDAY_NAMES

_LED = re.compile(
    r"\b(?:in|on|at|by|before|after|since|until|till|from|for|during|of|to|around|about|between|and"
    r"|or)"
    r"\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
"""Words before a period that a date can follow."""

_REPEATED = re.compile(r"\b(?:every|each|most|all)\s+(?:other\s+|second\s+)?\Z", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_RELATIVE = re.compile(r"(?:this|last|next|past|coming|the)\s+", re.IGNORECASE)

_WEEKDAYS = {name[:3]: name for name in WEEKDAY_NAMES}
_SHORT = re.compile(
    r"(?:(?<=\blast )|(?<=\bnext )|(?<=\bthis ))(?:Mon|Tues?|Wed|Thu|Thurs?|Fri|Sat|Sun)\b\.?",
    re.IGNORECASE,
)

_NOUN = re.compile(
    r"\s+(?!(?:and|but|or|when|with|at|in|on|to|for|from|we|i|because|of|by|as|until|after|before|so|is"
    r"|was|will|which|that|if|while|then|too|my|our|the|around|about|near)\b)[a-z]+(?:\s*$|[.,!])"
)
"""A last word after a period whose name it may continue, such as `break`."""


def dated(
    text: str, today: date, *, coming: bool, general: bool = False
) -> tuple[str, date | None]:
    """A text with its times as dates, and the first day that it names; None if it names none.

    Relative times count from `today`; a day without a year is the next one if `coming`, else the
    last one. Times without a clear period, such as `the other day`, stay as they are. In a text
    that holds in `general`, such as a rule, a weekday is any of that name.
    """
    # A letter such as the dotless i matches, though no name of a day has it.
    text = _SHORT.sub(lambda day: _WEEKDAYS.get(day[0][:3].capitalize(), day[0]), text)
    pieces: list[str] = []
    at, named = 0, None
    for word in calendar_words(text, today, coming=coming):
        led = _LED.search(text, 0, word.start)
        if _REPEATED.search(text, 0, word.start) or not (said := _written(text, word)):
            continue
        if general and word.kind == "day" and not word.certain:
            continue
        if not (led or word.certain or word.kind == "day") or _NOUN.match(text, word.stop):
            # "May" alone may be a verb, and "the summer break" is no date.
            continue
        named = named or word.counted or word.first
        said = (
            said.partition(" ")[2]
            if led and said.startswith(("in ", "on ", "at ", "around "))
            else said
        )
        if led and led[0].casefold().startswith("of") and word.kind == "month":
            said = f"{word.first:%B %Y}"
        pieces += [text[at : word.start], said]
        at = word.stop
    return "".join(pieces) + text[at:], named


def due_in(text: str, today: date) -> date | None:
    """The day to come that a text names, of a longer period its last; None if it names none."""
    for word in calendar_words(text, today, coming=True):
        day = word.counted or word.last
        if day >= today and not _REPEATED.search(text, 0, word.start):
            return day
    return None


def _written(text: str, word: CalendarWord) -> str:
    """A period as dates; empty if it is to stay as it is."""
    first, last, days = word.first, word.last, (word.last - word.first).days + 1
    if word.kind in ("month", "season", "holiday", "year") and _YEAR.search(
        text, word.start, word.stop
    ):
        return text[word.start : word.stop]
    if word.counted:
        return f"around {word.counted}" if days > 1 else f"on {word.counted}"
    if word.kind in ("season", "holiday"):
        name = _RELATIVE.sub("", text[word.start : word.stop]).strip(" ,")
        return f"in {name} {first.year}" if days > 9 else f"at {name} {first.year}"
    if days == 1:
        return f"on {first}"
    if days == 2:
        return f"on the weekend of {first}"
    if days == 7 and first.weekday() == 0:
        return f"in the week of {first}"
    if first.day == 1 and (last + timedelta(days=1)).day == 1:
        if days < 32:
            return f"in {first:%Y-%m}"
        return f"in {first.year}" if days > 364 else ""
    return ""
