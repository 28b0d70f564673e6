"""Finds words for days and periods in English text: `last Tuesday`, `two weeks ago`. Pure.

`languages.date_phrases` adds what the words before them say: `since`, `before`, `between`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date

from djinn_memory.languages.calendar_meanings import (
    day_of_month,
    dotted_day,
    holiday,
    iso_day,
    iso_month,
    named_month,
    named_year,
    part_of_month,
    quarter,
    season,
    slashed_day,
)
from djinn_memory.languages.calendar_names import (
    MONTHS,
    SHORT_MONTHS,
    WEEKDAYS,
    has_calendar_words,
)
from djinn_memory.languages.calendar_word import NUMBERS, CalendarWord
from djinn_memory.languages.relative_meanings import (
    ago,
    ahead,
    end_of,
    last_units,
    near_day,
    nth_of_month,
    relative_unit,
    weekday,
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
