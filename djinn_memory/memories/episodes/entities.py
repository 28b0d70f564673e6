"""Finds the entities in a text: known notes, people, dates, amounts, addresses, hashtags.

It uses only rules: nothing is downloaded, and no model is used. If two rules match overlapping
parts of a text, the rule that comes first in `find_entities` wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from djinn_memory.languages.date_phrases import named_period
from djinn_memory.memories.episodes.requests import Entity
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.slugs import name_key

READ = 20_000
"""Maximum characters of a text in which entities are searched for."""

MOST = 50
"""Maximum number of entities in one text."""

LONGEST_NAME = 6
"""Maximum number of words in the name of a note."""

_WORD = re.compile(r"[^\W_][\w'’.&-]*[^\W_]|[^\W_]")
_URL = re.compile(r"https?://[^\s<>\"'\])}]+[^\s<>\"'\])}.,;:!?]")
_HASHTAG = re.compile(r"(?<![\w#&/])#(?=[\w/-]*[^\W\d_])[\w/-]*\w")

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_UNIT = r"(?:day|week|month|year)s?"
_NUMBER = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
_YEAR = r"(?:19|20)\d\d"
_DATE = re.compile(
    rf"""
    \b(?:
        \d{{4}}-\d\d-\d\d (?: [T ]\d\d:\d\d (?: :\d\d )? (?: Z | [+-]\d\d:?\d\d )? )?
      | \d{{1,2}} \. \s? \d{{1,2}} \. \s? {_YEAR}
      | \d{{1,2}} (?:st|nd|rd|th)? \s (?:of\s)? (?-i:{_MONTH}) \.? (?: ,?\s{_YEAR} )?
      | (?-i:{_MONTH}) \.? \s \d{{1,2}} (?:st|nd|rd|th)? \b (?!\s?(?:%|[ap]\.?m)) (?: ,?\s{_YEAR} )?
      | (?-i:{_MONTH}) \s {_YEAR}
      | (?:in|since|until|by|last|next|this|during) \s (?-i:{_MONTH}) \b
      | (?: (?:last|next|this|on|by|until|since) \s )? (?-i:{_WEEKDAY})
      | (?:last|next|this) \s (?:week|month|year|weekend)
      | {_NUMBER} \s {_UNIT} \s ago
      | in \s {_NUMBER} \s {_UNIT}
      | the\sday\s(?:after\stomorrow|before\syesterday) | today | tomorrow | yesterday | tonight
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:\s?[ap]\.?m\b\.?)?|\b(?:1[0-2]|[1-9])\s?[ap]\.?m\b",
    re.IGNORECASE,
)
_FIGURE = r"\d{1,3}(?:[,.' ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_AMOUNT = re.compile(
    rf"""
    [€$£¥] \s? (?:{_FIGURE}) (?:\s?(?:k|m|bn|million|billion)\b)?
    | (?<![\w.,]) (?:{_FIGURE}) \s?
      (?: [€$£¥%°] | (?:EUR|USD|GBP|CHF|JPY|euros?|dollars?|pounds?|francs?|percent|per\scent
        |kg|g|mg|t|km|m|cm|mm|miles?|l|ml|kWh|W|kW|[KMGT]i?B|ms|Hz|MHz|GHz)\b )
    """,
    re.VERBOSE,
)
_CAPITAL = r"[^\W\d_a-zà-öø-ÿ][\w'’-]*[^\W\d_]"
_NAME = re.compile(
    rf"\b{_CAPITAL}(?:\s(?:(?:van|von|der|den|de|da|di|del|la|le|of)\s){{0,2}}{_CAPITAL})+"
)
_SINGLE_NAME = re.compile(rf"(?<=[\w,;:)] ){_CAPITAL}(?:'s)?\b")
_NO_NAME = frozenset({
    "a", "also", "an", "and", "are", "but", "can", "could", "dear", "did", "do", "does", "he",
    "hello", "hey",
    "hi", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "is", "it", "let", "let's", "my",
    "no", "not", "now", "ok", "okay", "or", "our", "please", "she", "should", "so", "thanks",
    "that", "the", "then", "these", "they", "this", "those", "was", "we", "were", "what", "when",
    "todo", "utc", "gmt", "where", "which", "who", "why", "will", "would", "yes", "you", "your",
})  # fmt: skip
"""Words that are often capitalised but are not names."""

Known = Callable[[Collection[str]], Mapping[str, str]]
"""Returns the titles of the notes for entities that have one of these names, by `name_key`."""


class KnownNames:
    """All names of entities. It is a `Known` for many texts, in which only few words begin one."""

    def __init__(self, titles: Mapping[str, str]) -> None:
        """`titles` are the titles of the notes by name, as `name_key` returns it."""
        self.titles = titles
        beginnings = (_WORD.search(name) for name in titles)
        self._first_words = {match[0] for match in beginnings if match}

    def __call__(self, names: Collection[str]) -> Mapping[str, str]:
        """The titles of these names."""
        return {name: self.titles[name] for name in names if name in self.titles}

    def may_begin(self, word: str) -> bool:
        """Whether a name may begin with a word of a text."""
        key = name_key(word)
        return key in self._first_words or word.lower().removesuffix(".md") in self._first_words


_Match = tuple[int, int, Entity]


def find_entities(text: str, known: Known, now: datetime) -> tuple[Entity, ...]:
    """The entities in a text without repetitions, in the order of the text.

    Dates are relative to `now`.
    """
    text = text[:READ]
    taken: list[_Match] = []
    used = bytearray(len(text))
    for matches in (
        _plain(text, _URL, "url"),
        _known(text, known),
        _plain(text, _HASHTAG, "hashtag"),
        _plain(text, _DATE, "date"),
        _plain(text, _TIME, "time"),
        _plain(text, _AMOUNT, "amount"),
        _names(text, _NAME),
        _names(text, _SINGLE_NAME),
    ):
        for start, stop, entity in matches:
            if not any(used[start:stop]):
                used[start:stop] = b"\1" * (stop - start)
                taken.append((start, stop, entity))
    listed: dict[tuple[str, str], Entity] = {}
    for _, _, entity in sorted(taken, key=lambda match: match[:2]):
        listed.setdefault((entity.kind, entity.text.casefold()), entity)
    return tuple(_dated(entity, now) for entity in [*listed.values()][:MOST])


def _plain(
    text: str, pattern: re.Pattern[str], kind: Literal["url", "hashtag", "date", "time", "amount"]
) -> Iterator[_Match]:
    for match in pattern.finditer(text):
        yield *match.span(), Entity(kind, " ".join(match[0].split()))


def _known(text: str, known: Known) -> Iterator[_Match]:
    """Known entities, longest names first. A name of one letter does not count."""
    if isinstance(known, KnownNames) and not known.titles:
        return
    words = [match.span() for match in _WORD.finditer(text)]
    spans: dict[str, list[tuple[int, int]]] = {}
    may_begin = known.may_begin if isinstance(known, KnownNames) else None
    for first, (start, end) in enumerate(words):
        if may_begin and not may_begin(text[start:end]):
            continue
        for _, stop in words[first : first + LONGEST_NAME]:
            key = name_key(text[start:stop])
            if len(key) > 1 and "\n" not in text[start:stop]:
                spans.setdefault(key, []).append((start, stop))
    titles = known(spans)
    matches = [
        (start, stop, Entity("known", title))
        for key, title in titles.items()
        for start, stop in spans.get(key, ())
    ]
    yield from sorted(matches, key=lambda match: match[0] - match[1])


def _names(text: str, pattern: re.Pattern[str]) -> Iterator[_Match]:
    """Names: several capitalised words in a row, or one within a sentence."""
    for match in pattern.finditer(text):
        start, words = match.start(), match[0].removesuffix("'s").split()
        while words and words[0].lower() in _NO_NAME:
            start += len(words[0]) + 1
            words = words[1:]
        # A single capital says nothing at the beginning of a sentence.
        begins = not text[:start].rstrip(" >*_\"'(").endswith(tuple(",;:)")) and (
            not text[:start].strip() or text[:start].rstrip()[-1:] in ".!?\n"
        )
        if words and not (len(words) == 1 and (begins or words[0].lower() in _NO_NAME)):
            name = " ".join(words)
            yield start, start + len(name), Entity("name", name)


def _dated(entity: Entity, now: datetime) -> Entity:
    if entity.kind != "date":
        return entity
    day = iso_date(entity.text) or _spoken_day(entity.text, now.date())
    return Entity("date", entity.text, day)


@lru_cache(maxsize=10_000)
def _spoken_day(text: str, today: date) -> str | None:
    """The first day of the period that a date in words means; None if there is no such day.

    A period after `last`, `since` or `during` is in the past, any other in the future.
    """
    past = text.lower().startswith(("last ", "since ", "during "))
    period = named_period(text, today, coming=not past)
    return (period.counted or period.first).isoformat() if period else None
