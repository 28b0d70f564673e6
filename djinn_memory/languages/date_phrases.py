"""Finds expressions of time in English text: `since 3 May`, `between March and June`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from msgspec import Struct

from djinn_memory.languages.calendar_words import (
    NUMBER,
    UNIT_DAYS,
    UNIT_SLACK,
    CalendarWord,
    calendar_words,
    number,
)
from djinn_memory.languages.days import DayWindow, days_later, years_earlier


class DatePhrase(Struct, frozen=True):
    """An expression of time in a text, and the period that it means."""

    start: int
    stop: int
    window: DayWindow
    yearly: bool
    """Whether no year was named, so that it could mean the same days of another year."""


_OFFSET = (
    rf"(?P<count>{NUMBER}|the|last)\s+(?P<unit>day|week|weekend|month|year)s?\s+"
    r"(?P<side>before|after|prior\s+to|following)"
)
_LEAD = re.compile(
    rf"(?:\b{_OFFSET}|\b(?P<word>between|from|(?:ever\s+)?since|after|following|before|prior\s+to"
    r"|until|till|up\s+to|as\s+(?:of|at)|around|near|circa|about|regarding|by|for|due|on|in|at|during|over"
    r"|throughout|within|of|every|each|black|good|ruby|cyber))\s+(?P<the>the\s+)?\Z",
    re.IGNORECASE,
)
_BEFORE_DAY = re.compile(r"(?:(?:on|by|before|until|since|during|in|at|the)\s+)*", re.IGNORECASE)
_CLOCK = re.compile(
    r"\.?(?:,?\s*(?:at |around |in the )*(?:noon|midnight|morning|afternoon|evening"
    r"|\d{1,2}(?::\d\d)?(?:\s?[ap]\.?m\.?)?))?",
    re.IGNORECASE,
)
"""The rest of a text that names a day."""

LONGEST_LEAD = 100
"""Characters before a period that are searched for it. All of a long text would take too long."""

_LINK = re.compile(r"\s*(?:(?P<and>and)|to|until|till|through|thru|-|\u2013)\s*", re.IGNORECASE)
_ONWARDS = re.compile(r"\s+(?:on|onwards?|forward)\b(?=\s*[?.!,;]|\s*\Z|\s+\w)", re.IGNORECASE)

_AFTER = re.compile(r"\s*(?:[?.!,;:)\]'\"]|\Z)")
_GOES_ON = re.compile(
    r"\s+(?:and|or|about|with|by|on|for|did|do|does|was|were|is|are|we|i|you|he|she|they|it|that"
    r"|which|who|when|how|what|where|why|to|the|until|through|at|in|my|our|as|regarding|have|has"
    r"|had|there|there's|break|holidays?|time|season|term)\b|\s+(?-i:[A-Z])",
    re.IGNORECASE,
)
"""Words after a period that do not make it a part of a name or of a number."""

_WITHIN = frozenset({"in", "on", "at", "during", "over", "throughout", "within", "from"})
_NO_DATE = frozenset({"every", "each", "black", "good", "ruby", "cyber"})
_TOPIC = frozenset({"about", "regarding", "by", "for", "due"})
"""Words before a date that make it the subject of a text, not the time of its writing."""

_NEAR = {"day": 3, "holiday": 7, "past": 3, "coming": 3}
"""Days that `around` adds on both sides. It adds `_NEAR_LONG` to other periods."""

_NEAR_LONG = 10


def date_phrases(
    text: str, today: date, *, coming: bool = False, subjects: bool = False
) -> list[DatePhrase]:
    """The expressions of time in a text, in its order.

    Relative ones count from `today`. Without a year, the most recent period is meant; with
    `coming`, the next one. With `subjects`, those that name what a text is about count too, such
    as `planned for May`.
    """
    words = calendar_words(text, today, coming=coming)
    phrases: list[DatePhrase] = []
    at = 0
    while at < len(words):
        pair = _range(text, words[at : at + 2])
        phrase = pair or _phrase(text, words[at], subjects)
        if phrase:
            # "Last weekend before 10 April" is one expression.
            while phrases and phrases[-1].stop > phrase.start:
                phrases.pop()
            phrases.append(phrase)
        at += 2 if pair else 1
    return phrases


def named_period(text: str, today: date, *, coming: bool) -> CalendarWord | None:
    """The period in a text that names nothing else, such as `by next Friday at noon`.

    A time of the day does not count. None if the text says more, or names several periods.
    """
    # The rules distinguish a month from a verb by its capital and by its place in a sentence.
    words = f"on {' '.join(text.split()).title().strip(' .,!')}"
    named = calendar_words(words, today, coming=coming)
    if len(named) != 1:
        return None
    before, after = words[: named[0].start], words[named[0].stop :]
    return named[0] if _BEFORE_DAY.fullmatch(before) and _CLOCK.fullmatch(after) else None


def _lead(text: str, word: CalendarWord) -> re.Match[str] | None:
    """The words before a period that belong to it."""
    return _LEAD.search(text, max(0, word.start - LONGEST_LEAD), word.start)


def _range(text: str, words: Sequence[CalendarWord]) -> DatePhrase | None:
    """`between A and B`, `from A to B`, `A to B`."""
    if len(words) < 2:
        return None
    first, last = words
    link = _LINK.fullmatch(text, first.stop, last.start)
    lead = _lead(text, first)
    word = (lead["word"] or "").lower() if lead else ""
    if not link or (link["and"] and word != "between"):
        return None
    if word not in ("between", "from", "in", "during", "on") and not (
        first.certain or (first.kind == last.kind == "month" and last.certain)
    ):
        return None
    begin, end = first.first, last.last
    if last.yearly:
        # "From November to February" ends in the February after that November.
        end = years_earlier(end, end.year - begin.year)
        end = years_earlier(end, -1) if end < begin else end
    elif first.yearly:
        begin = years_earlier(begin, begin.year - end.year)
        begin = years_earlier(begin, 1) if begin > end else begin
    if begin > end:
        return None
    start = lead.start() if lead and word in ("between", "from") else first.start
    return DatePhrase(start, last.stop, DayWindow(begin, end), first.yearly and last.yearly)


def _phrase(text: str, word: CalendarWord, subjects: bool) -> DatePhrase | None:
    """One period, with the words before it."""
    lead = _lead(text, word)
    if lead and lead["unit"]:
        window = _beside(lead, word)
        return DatePhrase(lead.start(), word.stop, window, word.yearly) if window else None
    before = " ".join((lead["word"] or "").lower().split()) if lead else ""
    if subjects and before in _TOPIC:
        before = "in" if word.kind != "day" else "on"
    if not _means_date(text, word, before, bool(lead and lead["the"])):
        return None
    start = lead.start() if lead and before and before != "of" else word.start
    stop, first, last = word.stop, word.first, word.last
    window = DayWindow(first, last)
    if before.endswith("since"):
        window = DayWindow(first, None)
    elif before == "from" and (onwards := _ONWARDS.match(text, stop)):
        window, stop = DayWindow(first, None), onwards.end()
    elif before in ("after", "following"):
        window = DayWindow(days_later(last, 1), None)
    elif before in ("before", "prior to"):
        window = DayWindow(None, days_later(first, -1))
    elif before in ("until", "till", "up to"):
        window = DayWindow(None, last)
    elif before in ("around", "near", "circa", "about"):
        near = _NEAR.get(word.kind, _NEAR_LONG)
        window = DayWindow(days_later(first, -near), days_later(last, near))
    return DatePhrase(start, stop, window, word.yearly)


def _means_date(text: str, word: CalendarWord, before: str, the: bool) -> bool:
    """Whether words mean when something was written, and not a part of a name or of its topic."""
    if before in _NO_DATE:
        return False
    if before in _TOPIC:
        return word.kind == "past"
    written = text[word.start : word.stop]
    if word.kind == "day" and not word.certain:
        # A weekday: "Friday Harbor" and "Tuesdays" mean none.
        ends = _AFTER.match(text, word.stop) or _GOES_ON.match(text, word.stop)
        return bool(ends) and (bool(before) or bool(_AFTER.match(text, word.stop)))
    if word.certain:
        return True
    if not before or before == "of":
        return False
    if word.kind in ("year", "season", "holiday"):
        # "In 2000 words", "after the winter berths" and "before the Easter regatta" mean none.
        follows = _AFTER.match(text, word.stop) or _GOES_ON.match(text, word.stop)
        return bool(follows) and not (the and word.kind == "year")
    if word.kind == "month" and the and not re.match(r"the|Q", written, re.IGNORECASE):
        return False
    if written == "may":
        return before in ("in", "since", "during", "until") or before.endswith("since")
    if written == "march":
        return before in (*_WITHIN, "since", "until", "before", "after") and before != "on"
    return not (word.kind == "month" and before == "on")


def _beside(lead: re.Match[str], word: CalendarWord) -> DayWindow | None:
    """`two weeks before A`, `the day after A`, `the weekend before A`."""
    count, unit, side = lead["count"].lower(), lead["unit"].lower(), lead["side"].lower()
    before = side.startswith(("before", "prior"))
    border = word.first if before else word.last
    if unit == "weekend":
        away = (5 - border.weekday()) % 7 or 7
        if before:
            away = -((border.weekday() - 5) % 7 or 7)
        saturday = days_later(border, away)
        return DayWindow(saturday, days_later(saturday, 1))
    length = UNIT_DAYS[unit]
    if count in ("the", "last"):
        # "The week before" is all of it, "two weeks before" a time two weeks away.
        return (
            DayWindow(days_later(border, -length), days_later(border, -1))
            if before
            else DayWindow(days_later(border, 1), days_later(border, length))
        )
    middle = days_later(border, (-1 if before else 1) * number(count) * length)
    return DayWindow(days_later(middle, -UNIT_SLACK[unit]), days_later(middle, UNIT_SLACK[unit]))
