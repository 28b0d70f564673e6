"""Statements: what the properties and relations of an entity were at the time that is asked about.

The history of an entity's note has a line for each value, with its period and the key before the
value; see `memories.entities.properties`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta

from msgspec.structs import replace

from djinn_memory.languages.day_window import DayWindow
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.fact_note import PastValue, value_of_line
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.notes.periods import Period, first_day, held, last_day
from djinn_memory.search.backend import Vocabulary

_KEYED = re.compile(r"[^:\n]+: ")

Statement = tuple[int, PastValue]
"""The number of a line, from 0, and its value, which begins with the key of the property."""


def statements(text: str) -> Iterator[Statement]:
    """The statements about properties in the text of a note, or of a part of it."""
    for number, line in enumerate(text.split("\n")):
        value = value_of_line(line) if line.startswith("- ") else None
        if value and _KEYED.match(value.value):
            yield number, value


def then(
    listed: Sequence[Statement], at: str | None, windows: Sequence[DayWindow]
) -> list[Statement]:
    """The statements that held at a time, or else on a day of one of these windows."""
    by_key: dict[str, list[Statement]] = {}
    for each in listed:
        by_key.setdefault(each[1].value.partition(": ")[0], []).append(each)
    kept: list[Statement] = []
    for group in by_key.values():
        if at:
            value = held((value for _, value in group), at)
            kept += [each for each in group if each[1] is value]
        else:
            starts = {value.valid_from for _, value in group}
            kept += [
                each
                for each in group
                if any(_days(each[1].period, starts).meets(window) for window in windows)
            ]
    return kept


def answering(
    listed: Sequence[Statement], question: frozenset[str], vocabulary: Vocabulary
) -> list[Statement]:
    """The statements that have most words of a question; none if no statement has any.

    `question` are the stems of its content words.
    """
    shares = [
        len(question.intersection(vocabulary.stemmed(" ".join(vocabulary.split(value.value)))))
        for _, value in listed
    ]
    most = max(shares, default=0)
    return [each for each, share in zip(listed, shares, strict=True) if share == most > 0]


def joined(listed: Sequence[Statement]) -> PastValue:
    """Statements as one value, such as `led-by: Bob Alder; led-by: Maren Holt`."""
    values = [inline(value.value) for _, value in listed]
    if len(listed) == 1:
        return replace(listed[0][1], value=values[0])
    # The first to begin comes first.
    return PastValue(None, None, None, "; ".join(reversed(values)))


def _days(period: Period, starts: Collection[str | None]) -> DayWindow:
    """The days of a period. The next value, if there is one, takes the day on which it begins."""
    first = first_day(local_day(period.start)) if period.start else None
    last = _date(last_day(local_day(period.end)) if period.end else None)
    if last and period.end in starts and first != last.isoformat():
        last -= timedelta(days=1)
    return DayWindow(_date(first), last)


def _date(day: str | None) -> date | None:
    return date.fromisoformat(day) if day else None
