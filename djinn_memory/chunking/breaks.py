"""Finds where a text may be cut, best first, and the spans that should stay whole."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from djinn_memory.chunking.spans import Span, size, skip, span_across
from djinn_memory.languages.scripts import UNSPACED
from djinn_memory.models import Section

Break = Literal["heading", "paragraph", "line", "sentence", "word"]

_HANGUL = "\u1100-\u11ff\uac00-\ud7af"
_ENDS = "。！？、，；：．」』）】》〉"
_TRAILS = f"{_ENDS}…”’"
"""Characters that must not follow a break."""
_CLINGS = (
    "\u0e31\u0e33-\u0e3a\u0e45\u0e47-\u0e4e"  # Thai
    "\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece"  # Lao
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d"
    "\u17b4-\u17d3\u17dd"  # Khmer
    "\u3099\u309a"  # kana
)
"""Signs that belong to the previous letter. No break may come before them."""
_LEANS = "\u0e40-\u0e44\u0ec0-\u0ec4\u1039\u17d2"
"""Vowels written before their letter, and signs that stack the next letter. No break may follow."""

_WORD = rf"""(?:
    (?<=\s) | (?=\s)
  | (?<=[{UNSPACED}])(?<![{_HANGUL}{_LEANS}]) (?=[{UNSPACED}])(?![{_HANGUL}{_CLINGS}])
  | (?<=[{_ENDS}])(?![{_TRAILS}])
)"""
_PATTERNS = {
    "paragraph": r"\n[ \t\r]*\n",
    "line": r"\n",
    # At most 3 quotes in a row: a longer run would be tried again from each of its characters.
    "sentence": rf"(?: [.!?…][\"'”’)\]]{{0,3}}\s | [。！？][{_ENDS}]{{0,3}}(?![{_TRAILS}]) )",
    "word": _WORD,
}
_LAST = {kind: re.compile(rf"(?sx) .* {pattern} (?=.)") for kind, pattern in _PATTERNS.items()}
"""The last break of each kind. Matching backwards reads no more text than necessary."""
_OPENINGS = [
    re.compile(rf"(?x) (?: {pattern} ) \s*")
    for pattern in (
        f"{_PATTERNS['paragraph']} | {_PATTERNS['sentence']}",
        _PATTERNS["line"],
        _PATTERNS["word"],
    )
]
"""Where the text that a chunk repeats from the previous chunk may begin, best first."""


def leads(text: str, sections: Sequence[Section]) -> list[Span]:
    """Runs of headings, each with the first character of the text below. No cut may split them."""
    result: list[Span] = []
    opens: int | None = None
    for section in sections:
        if opens is None and section.opens < section.start:
            opens = section.opens
        first = skip(text, section.start, section.end)
        if first < section.end and opens is not None:
            result.append((opens, first + 1))
            opens = None
    return result if opens is None else [*result, (opens, len(text))]


class Breaks(Struct, frozen=True):
    """Finds positions where a text may be cut into chunks of at most `limit` tokens."""

    text: str
    tokens: Sequence[int]
    limit: int
    blocks: Sequence[Span] = ()
    leads: Sequence[Span] = ()

    def parted(self, place: int) -> Span | None:
        """The block or lead that a cut at `place` would split although it fits into a chunk."""
        for spans in (self.blocks, self.leads):
            span = span_across(spans, place)
            if span and size(span, self.tokens) <= self.limit:
                return span
        return None

    def last(self, kind: Break, low: int, high: int) -> int | None:
        """The last break after `low` and up to `high` that splits no block or lead that fits."""
        if kind == "heading":
            at = bisect_left(self.leads, (high + 1, 0)) - 1
            return self.leads[at][0] if at >= 0 and self.leads[at][0] > low else None
        while high > low:
            # One more character lets the pattern look at what follows the break.
            match = _LAST[kind].match(self.text, low, high + 1)
            if not match or match.end() <= low:
                return None
            span = self.parted(match.end())
            if not span:
                return match.end()
            high = span[0]
        return None

    def opening(self, low: int, high: int) -> int:
        """The start, at `low` or later, of the text that the chunk at `high` repeats.

        Prefers the start of a sentence, then of a line, then of a word. Returns `high` if there is
        none.
        """
        for pattern in _OPENINGS:
            # The stop that ends a sentence may be just before `low`.
            for match in pattern.finditer(self.text, max(low - 2, 0), high):
                if low <= match.end() < high and not self.parted(match.end()):
                    return match.end()
        return high
