"""Finds expressions of time in English text: `since 3 May`, `between March and June`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date

from msgspec import Struct

from djinn_memory.languages.calendar_meanings import (
    NUMBERS,
    CalendarWord,
    ago,
    ahead,
    day_of_month,
    dotted_day,
    end_of,
    holiday,
    iso_day,
    iso_month,
    last_units,
    named_month,
    named_year,
    near_day,
    nth_of_month,
    number,
    part_of_month,
    quarter,
    relative_unit,
    season,
    slashed_day,
    weekday,
)
from djinn_memory.languages.days import (
    MONTHS,
    SHORT_MONTHS,
    WEEKDAYS,
    DayWindow,
    days_later,
    has_calendar_words,
    years_earlier,
)

_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|(?:{'|'.join(reversed(SHORT_MONTHS))})\b\.?)"
_FULL_MONTH = rf"(?P<month>{'|'.join(MONTHS)})\b"
_YEAR = r"(?P<year>(?:199|20\d)\d)(?!\d|[.:-]\d)"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"
NUMBER = rf"(?:\d{{1,3}}|an?|{'|'.join(NUMBERS)})"
_WHICH = r"(?P<which>last|this(?:\s+past)?|next|past|previous|coming|current)"
_PART = r"(?:\s+(?:morning|noon|afternoon|evening|night))?"
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?(?:{_YEAR}|(?P<whichyear>last|this|next)\s+year))?"

_SEPARATOR = r"\s?[-\u2013]\s?|\s+(?:to|and|until|through)\s+"
_NTH = r"(?P<nth>st|nd|rd|th)?"
_UNITS = r"(?P<unit>day|week|month|year)s?"
_VAGUE = rf"(?:(?P<number>{NUMBER})|(?:an?\s+)?(?P<loose>couple|few|several)(?:\s+of)?)"

_Meaning = Callable[[re.Match[str], date, bool], CalendarWord | None]

_PATTERNS: list[tuple[str, _Meaning]] = [
    (r"(?<![\d.-])(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?![\d-])", iso_day),
    (r"(?<![\d.])(?P<a>\d{1,2})\.\s?(?P<b>\d{1,2})\.\s?(?P<y>(?:19|20)\d\d)(?![\d.])",
     dotted_day),
    (r"(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>(?:19|20)\d\d)(?![\d/])", slashed_day),
    (r"(?<![\d.-])(?P<y>(?:199|20\d)\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])", iso_month),
    (rf"(?<![\d.,:-])(?P<d>\d{{1,2}})(?:(?:{_SEPARATOR})(?P<to>\d{{1,2}}))?{_NTH}\s+(?:of\s+)?"
     rf"{_MONTH}\b{_OF_YEAR}", day_of_month),
    (rf"\b{_MONTH}\s+(?P<d>\d{{1,2}}){_NTH}(?:(?:{_SEPARATOR})(?P<to>\d{{1,2}})(?:st|nd|rd|th)?)?"
     rf"\b(?!\s?(?:%|[ap]\.?m\b)|[.:]\d){_OF_YEAR}", day_of_month),
    (rf"\b(?P<part>early|mid|late|(?:the\s+)?(?:beginning|start|middle|end)\s+of)[\s-]"
     rf"{_FULL_MONTH}{_OF_YEAR}", part_of_month),
    (rf"\b(?:{_WHICH}\s+)?{_FULL_MONTH}{_OF_YEAR}", named_month),
    (rf"\b(?P<month>{'|'.join(reversed(SHORT_MONTHS))})\b\.?(?P<which>){_OF_YEAR.removesuffix('?')}",
     named_month),
    (rf"(?:(?<=\bin )|(?<=\bsince )|(?<=\buntil )|(?<=\bduring )|\b(?P<which>last|next)\s+)"
     rf"(?P<month>(?-i:{'|'.join(name.capitalize() for name in reversed(SHORT_MONTHS))}))\b\.?",
     named_month),
    (rf"\b(?:Q(?P<q>[1-4])|(?:the\s+)?(?P<nth>first|second|third|fourth)\s+quarter)\b{_OF_YEAR}",
     quarter),
    (rf"\b(?:{_WHICH}\s+|(?P<the>the\s+))?(?P<season>spring|summer|autumn|fall|winter)\b"
     rf"(?!\s+of\s+(?!\d|last|this)){_OF_YEAR}", season),
    (rf"\b(?:{_WHICH}\s+)?(?P<holiday>christmas(?:\s+(?:eve|day))?|xmas|halloween|thanksgiving|easter"
     rf"|new\s+year(?:['\u2019]?s)?(?:\s+(?:eve|day))?|valentine['\u2019]?s(?:\s+day)?)\b{_OF_YEAR}",
     holiday),
    (r"\bthe\s+day\s+(?:before\s+yesterday|after\s+tomorrow)\b|\bthe\s+other\s+day\b|\blast\s+night\b"
     rf"|\b(?:yesterday|tomorrow){_PART}\b|\bearlier\s+today\b|(?<!in )\btoday\b(?!['\u2019]s)"
     r"|\btonight\b|\bthis\s+(?:morning|afternoon|evening)\b", near_day),
    (rf"\b{_VAGUE}\s+(?P<unit>day|week|month|year|hour|minute)s?\s+ago\b", ago),
    (rf"\b(?:in\s+)?(?P<number>{NUMBER})\s+{_UNITS}(?P<now>\s+from\s+now)?\b", ahead),
    (r"\b(?:the\s+)?end\s+of\s+(?:the\s+|this\s+|(?P<which>last|next)\s+)?"
     r"(?P<unit>day|week|month|quarter|year)\b(?!['\u2019])", end_of),
    (rf"\b(?:the\s+)?(?P<which>last|past|previous|next|coming)\s+{_VAGUE}\s+{_UNITS}\b",
     last_units),
    (r"\bthe\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b(?:\s+of\s+(?P<which>last|this|next)\s+month"
     r"|(?=\s*[?.!,;]|\s*$))", nth_of_month),
    (rf"\b(?:{_WHICH}\s+)?{_WEEKDAY}\b(?P<part>\s+(?:morning|noon|afternoon|evening|night))?"
     r"(?:,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?", weekday),
    (rf"\b{_WHICH}\s+(?P<unit>week|weekend|month|quarter|year)\b", relative_unit),
    (rf"(?<![\w.$\u20ac\u00a3:/#-]){_YEAR}(?![\w%/-])", named_year),
]  # fmt: skip

_COMPILED = [(re.compile(pattern, re.IGNORECASE), meaning) for pattern, meaning in _PATTERNS]


def _calendar_words(text: str, today: date, *, coming: bool = False) -> list[CalendarWord]:
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
    r"|until|till|up\s+to|around|near|circa|about|regarding|by|for|due|on|in|at|during|over"
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
"""Before a date, these say what a text is about, and not when it was written."""

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
    words = _calendar_words(text, today, coming=coming)
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
    # The other rules tell a month from a verb by its capital and by its place in a sentence.
    words = f"on {' '.join(text.split()).title().strip(' .,!')}"
    named = _calendar_words(words, today, coming=coming)
    if len(named) != 1:
        return None
    before, after = words[: named[0].start], words[named[0].stop :]
    return named[0] if _BEFORE_DAY.fullmatch(before) and _CLOCK.fullmatch(after) else None


def _lead(text: str, word: CalendarWord) -> re.Match[str] | None:
    """What is said before a period."""
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
    """One period, with what is said before it."""
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
    written = text[slice(*word.span)]
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
    length = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    if count in ("the", "last"):
        # "The week before" is all of it, "two weeks before" a time two weeks away.
        return (
            DayWindow(days_later(border, -length), days_later(border, -1))
            if before
            else DayWindow(days_later(border, 1), days_later(border, length))
        )
    middle = days_later(border, (-1 if before else 1) * number(count) * length)
    slack = {"day": 0, "week": 3, "month": 15, "year": 120}[unit]
    return DayWindow(days_later(middle, -slack), days_later(middle, slack))
