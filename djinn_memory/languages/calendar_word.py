"""Words in a text that name a period, and the numbers and months in them. Pure."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import Struct

from djinn_memory.languages.calendar_names import MONTHS, SHORT_MONTHS

NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
         "twelve"),
        start=1,
    )
} | {"a": 1, "an": 1, "the": 1}  # fmt: skip

Kind = Literal["day", "month", "year", "season", "holiday", "past", "coming"]


class CalendarWord(Struct, frozen=True):
    """Words in a text that name a period."""

    start: int
    stop: int
    first: date
    last: date
    kind: Kind
    yearly: bool = False
    """Whether no year was named, so that the words could mean the same days of another year."""
    certain: bool = True
    """Whether the words mean a date wherever they occur. `May` alone does not."""
    counted: date | None = None
    """The day at exactly the distance that was said; its period is wider."""

    @property
    def span(self) -> tuple[int, int]:
        """Its position in the text."""
        return self.start, self.stop


def month_number(name: str) -> int:
    """The number of a month from its name or the short form of it."""
    name = name.lower().rstrip(".")
    return MONTHS.get(name) or SHORT_MONTHS[name]


def number(text: str) -> int:
    """A number in digits or as a word up to twelve."""
    return NUMBERS.get(text.lower()) or int(text)
