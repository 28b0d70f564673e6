"""Rules for values that a name, a sentence or a command line reveals, and the text they search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property

from msgspec import Struct

from djinn_memory.secrets.values import QUOTES, VALUE, Judge, in_sentence, mixed_word, option_value
from djinn_memory.system.expressions import expression

Candidate = tuple[str, int, int, int]
"""Kind, start and stop of a secret, and the start of the text that reveals it."""

_BEFORE, _AFTER = 100, 40
"""Characters searched before a match for required text, and after a number."""
_NUMBER = expression(
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
        self, text: str, lower: str, spans: Sequence[tuple[int, int]], beyond_ascii: bytes = b""
    ) -> None:
        self.text = text
        self.lower = lower
        self.spans = spans
        """The parts that are searched for words."""
        whole = spans == [(0, len(lower))]
        self.words = lower if whole else "\n".join(lower[slice(*span)] for span in spans)
        """The text of these parts."""
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

    @cached_property
    def numbers(self) -> list[int]:
        """The start of each number that may be a code."""
        zeros = self.lower.encode("latin-1", "replace").translate(_ZEROS)
        return [number.start() for number in _NUMBER.finditer(zeros)]

    @cached_property
    def near_numbers(self) -> SearchedText:
        """The same text, searched for words only near numbers that may be codes."""
        spans: list[tuple[int, int]] = []
        for number in self.numbers:
            start = max(0, number - _BEFORE)
            if spans and start <= spans[-1][1]:
                start = spans.pop()[0]
            spans.append((start, number + _AFTER))
        return SearchedText(self.text, self.lower, spans, self.beyond_ascii)

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


Search = Callable[[SearchedText], Iterator[Candidate]]
"""Finds the secrets of one kind."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled expression. Most texts need few expressions, and compiling takes time."""
    return re.compile(pattern)


_ENDS = ".,;:?)]}>*_"
"""Characters that may follow a value in a sentence or in Markdown."""
_NEXT = expression(r"[;&,|](?=[\w .-]{1,40}[\"']?[=:])")
"""The start of another value after an unquoted one."""
_MORE = expression(
    rf"[{QUOTES}]?[ \t]{{0,3}}(?:[,;/&|\u3001\uff0c]"
    r"|[ \t](?:and|or|und|oder|y|e|et|ou|en|och|\u0438)[ \t])"
    r"[ \t]{0,3}(?P<renewed>(?:(?:and|but|then|the|my|now)[ \t]){0,2}"
    r"(?:new|old|other|next|second|current|previous|latest)(?:[ \t]one)?"
    rf"(?:[ \t](?:is|was)[ \t]|[ \t]{{0,2}}[:=][ \t]{{0,2}}))?{VALUE}"
)
"""Another value after a value."""
_PLURAL = expression(
    r"w\u00f6rter|(?:words?|phrase|code|pwd|\u00f1a|senha|pass|woord|pw)(?:s|en)\b"
)
_ARN = r"\barn:[^\s\"']*"
"""An Amazon resource name. It says where a secret is stored and does not contain it."""


class Rule(Struct, frozen=True):
    """An expression for a value that the text around it reveals."""

    words: str
    """Words in lower case. The expression is tried at each of them."""
    pattern: str
    """The expression, in lower case, with the groups of `VALUE`. It begins at one of `words`."""
    before: str = ""
    """An expression for the text that must precede the match."""
    judge: Judge = option_value
    """The test of the value."""
    kind: str = "a password"
    """The kind of secret, with its article."""
    unless: str = ""
    """An expression for the text that must not precede the match."""
    more: bool = False
    """Whether other values may follow the first."""


RuleTable = dict[str, tuple[bytes, list[Rule]]]
"""By word: its letters beyond ASCII in UTF-8, which few texts have, and the rules tried at it."""


def by_word(rules: Iterable[Rule]) -> RuleTable:
    """A table of the rules. Words of ASCII letters come first."""
    table: RuleTable = {}
    for rule in rules:
        for word in rule.words.split():
            letters = word.encode().translate(None, _ASCII)
            table.setdefault(word, (letters, []))[1].append(rule)
    return dict(sorted(table.items(), key=lambda entry: bool(entry[1][0])))


def matches(
    text: SearchedText, table: RuleTable
) -> Iterator[tuple[Rule, re.Match[str], re.Match[str]]]:
    """Each match of a rule, with the match of the text before it; without `before`, with itself."""
    words, beyond_ascii = text.words, text.beyond_ascii
    for word, (letters, rules) in table.items():
        if letters and not beyond_ascii:
            return
        if letters not in beyond_ascii or word not in words:
            continue
        places = text.places(word)
        for rule in rules:
            pattern, end = compiled(rule.pattern), 0
            for place in places:
                match = pattern.match(text.lower, place) if place >= end else None
                before = match and text.preceding(place, rule.before) if rule.before else match
                if match and before:
                    end = match.end()
                    yield rule, match, before


def assigned(text: SearchedText, rules: RuleTable) -> Iterator[Candidate]:
    """The values that the rules reveal and their judges accept as secrets."""
    for rule, match, before in matches(text, rules):
        values = match if match.re.groups else before
        span = secret_span(text.text, values, rule.judge)
        if not span or text.preceding(match.start(), _ARN):
            continue
        if rule.unless and text.preceding(match.start(), rule.unless):
            continue
        if rule.judge is option_value and not values["quoted"] and in_sentence(text.text, *span):
            continue
        yield rule.kind, *span, before.start()
        if values is match and rule.more:
            yield from _further(text, rule, match, span[1])


def _further(
    text: SearchedText, rule: Rule, match: re.Match[str], stop: int
) -> Iterator[Candidate]:
    """The other values of a list or a sentence: `passwords: A, B`, `was A, the new one is B`."""
    while more := _MORE.match(text.lower, stop):
        many = more["renewed"] or _PLURAL.search(text.lower, match.start(), match.start() + 20)
        span = secret_span(text.text, more, rule.judge if many else mixed_word)
        if not span:
            return
        yield rule.kind, *span, match.start()
        stop = span[1]


def secret_span(text: str, match: re.Match[str], judge: Judge) -> tuple[int, int] | None:
    """The span of the value in a match with the groups of `VALUE`, if the value is a secret."""
    quoted = match["quoted"] is not None
    start, stop = match.span("quoted" if quoted else "bare")
    following = None if quoted else _NEXT.search(text, start, stop + 45)
    stop = min(stop, following.start()) if following else stop
    value = text[start:stop] if quoted else text[start:stop].rstrip(_ENDS)
    # An unquoted value may contain such a separator, or end there.
    variants = (value,) if quoted else (value, re.split(r"[;&,|]", value, maxsplit=1)[0])
    if any(judge(variant, quoted) for variant in variants):
        return start, start + len(value)
    return None
