"""A text in lower case, and the positions of the words at which expressions are tried."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

_BEFORE, _BEHIND = 100, 40
"""Characters searched before a match for required text, and after a number."""
_NUMBER = re.compile(
    rb"0(?:(?<![\w/.%=&-].)(?!000-00-)(?:[0 ?-]{3}|0?,? (?:left|right) )|(?<![/.%=&-].)[a-z])"
)
"""The start of a code: four digits but not a date, digits between dashes, or digits and letters.
All digits are zeros, and letters and dashes beyond Latin-1 are question marks, because a search for
one character takes a tenth of the time of a search for any of ten."""
_ASCII = bytes(range(128))
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


class SearchedText:
    """A text to search for secrets.

    It searches for each word once, however many expressions begin there: `str.find` is many times
    faster than a search for an expression.
    """

    def __init__(
        self,
        text: str,
        lower: str,
        spans: Sequence[tuple[int, int]],
        beyond_ascii: bytes = b"",
    ) -> None:
        self.text = text
        self.lower = lower
        self.spans = spans
        """The parts that are searched for words."""
        whole = spans == [(0, len(lower))]
        self.words = lower if whole else "\n".join(lower[slice(*span)] for span in spans)
        """The text of these parts."""
        self.numbers: Sequence[int] = ()
        """The start of each number that may be a code. `near_numbers` sets it."""
        self.beyond_ascii = beyond_ascii
        """The characters beyond ASCII, in UTF-8."""
        self._places: dict[str, list[int]] = {}

    @classmethod
    def of(cls, text: str) -> SearchedText:
        """The whole of `text` as a searched text."""
        if text.isascii():
            return cls(text, text.lower(), [(0, len(text))])
        # Bytes lower the letters of ASCII alone, so that each character keeps its place.
        encoded = text.encode(errors="surrogatepass").lower()
        lower = encoded.decode(errors="surrogatepass")
        return cls(text, lower, [(0, len(lower))], encoded.translate(None, _ASCII))

    def near_numbers(self) -> SearchedText:
        """The same text, searched for words only near numbers that may be codes."""
        zeros = self.lower.encode("latin-1", "replace").translate(_ZEROS)
        numbers = [number.start() for number in _NUMBER.finditer(zeros)]
        spans: list[tuple[int, int]] = []
        for number in numbers:
            start = max(0, number - _BEFORE)
            if spans and start <= spans[-1][1]:
                start = spans.pop()[0]
            spans.append((start, number + _BEHIND))
        near = SearchedText(self.text, self.lower, spans, self.beyond_ascii)
        near.numbers = numbers
        return near

    def places(self, word: str) -> Sequence[int]:
        """The positions at which `word` begins. `word` is in lower case."""
        places = self._places.get(word)
        if places is None:
            places = self._places[word] = []
            for start, stop in self.spans if word in self.words else ():
                place = self.lower.find(word, start, stop)
                while place >= 0:
                    places.append(place)
                    place = self.lower.find(word, place + len(word), stop)
        return places

    def at(self, words: Sequence[str], pattern: str, before: str = "") -> Iterator[re.Match[str]]:
        """The matches of `pattern` in lower case that begin at one of `words`.

        `before` is an expression that must match directly before them.
        """
        for word in words:
            end = 0
            for place in self.places(word):
                match = compiled(pattern).match(self.lower, place) if place >= end else None
                if match and (not before or self.preceding(place, before)):
                    end = match.end()
                    yield match

    def preceding(self, place: int, pattern: str) -> re.Match[str] | None:
        """The match of `pattern` in lower case that ends at `place`."""
        return compiled(rf"(?:{pattern})\Z").search(self.lower, max(0, place - _BEFORE), place)


def beyond_ascii(word: str) -> bytes:
    """The characters of a word beyond ASCII, in UTF-8."""
    return word.encode().translate(None, _ASCII)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled expression. Most texts need few expressions, and compiling takes time."""
    return re.compile(pattern)
