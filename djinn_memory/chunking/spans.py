"""Measures, finds and trims spans of a text, and tells the lines that they are on."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter


class Lines:
    """Counts lines from the last position asked for, so that nearby positions cost little.

    A list of all line ends would take more memory than the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def of(self, place: int) -> int:
        """The line of a position, from 1."""
        if place >= self._at:
            self._line += self._text.count("\n", self._at, place)
        else:
            self._line -= self._text.count("\n", place, self._at)
        self._at = place
        return self._line


Span = tuple[int, int]

_SPACE = re.compile(r"\s*")
_VISIBLE = re.compile(r"(?s).*\S")
_TABLE = re.compile(r"(?:\n[ \t]*+\|[^\n]*+)++")


def size(span: Span, tokens: Sequence[int]) -> int:
    """The number of tokens that begin in a span."""
    return bisect_left(tokens, span[1]) - bisect_left(tokens, span[0])


def span_at(spans: Sequence[Span], place: int) -> Span | None:
    """The span that holds the character at `place`; `spans` are in order and do not overlap."""
    at = bisect_right(spans, place, key=itemgetter(0)) - 1
    return spans[at] if at >= 0 and place < spans[at][1] else None


def span_across(spans: Sequence[Span], place: int) -> Span | None:
    """The span that a cut at `place` would split; `spans` are in order and do not overlap."""
    span = span_at(spans, place)
    return span if span and span[0] < place else None


def skip(text: str, start: int, end: int) -> int:
    """The first position from `start` on that is not white space, or `end` if there is none."""
    space = _SPACE.match(text, start, end)
    return space.end() if space else start


def trim(text: str, start: int, end: int) -> int:
    """The end of a span's text, without trailing white space."""
    visible = _VISIBLE.match(text, start, end)
    return visible.end() if visible else start


def blocks(text: str, fences: Sequence[Span], list_items: Sequence[Span] = ()) -> list[Span]:
    """Code fences, tables and list items in order. Each stays whole if it fits into a chunk."""
    # With the newline in front, the first line matches as every other does.
    tables = [(match.start(), match.end() - 1) for match in _TABLE.finditer("\n" + text)]
    result: list[Span] = []
    for start, end in sorted([*fences, *tables, *list_items]):
        if not result or start >= result[-1][1]:
            result.append((start, end))
    return result
