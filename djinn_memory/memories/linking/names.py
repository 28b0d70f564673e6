"""The names of a note that are looked for in texts, and the exact words of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from djinn_memory.languages.word_lists import stop_words
from djinn_memory.memories.entities.name_matcher import Words
from djinn_memory.memories.entities.names import names_of
from djinn_memory.memories.linking.requests import NameLeftOut
from djinn_memory.notes.slugs import fold
from djinn_memory.search.backend import Vocabulary
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.index.words import forms

FEWEST, COMMON = 20, 0.2
"""A single word is common if it is in so many parts of notes, and in this share of them. Of 388
names of one word in three real vaults, three are."""

SHORT = 2
"""A name of at most so many characters counts only in its own spelling: `Go`, but not `go`. So does
one in capitals, such as `WHO`."""

_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
"""Accents and vowel signs, which belong to the letter before them."""

_KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"
"""The syllables of which Japanese writes names from other languages, one word in a run."""

_ASCII = re.compile(r"[^\W_]+|[^\w \t]|_")


@cache
def _words() -> re.Pattern[str]:
    from djinn_memory.languages.scripts import UNSPACED

    letters = rf"(?:(?![_{UNSPACED}])[\w{_MARKS}])+"
    return re.compile(rf"[{_KATAKANA}]+|[{UNSPACED}]|{letters}|[^\w\s]|\n|_")


class Word(NamedTuple):
    """A word or a sign of a text, in the form in which names are compared."""

    word: str
    start: int
    end: int


def exact_words(text: str) -> Iterator[Word]:
    """The words, signs and line ends of a text. In scripts without spaces each letter is a word."""
    for match in (_ASCII if text.isascii() else _words()).finditer(text):
        yield Word(fold(match[0]).replace("’", "'"), *match.span())


def words_of(name: str) -> Words:
    """The words and signs of a name."""
    return tuple(word for word, *_ in exact_words(" ".join(name.split())))


class SoughtNames(Struct, frozen=True):
    """The names of a note that are looked for."""

    names: tuple[str, ...]
    as_written: frozenset[Words]
    """Those that count only in their own spelling."""
    left_out: tuple[NameLeftOut, ...]
    """Those that are not looked for, and single words that are common."""


def sought_names(vocabulary: Vocabulary, memory: IndexedMemory) -> SoughtNames:
    """The names of a note that are looked for in the vaults with a vocabulary."""
    names: list[str] = []
    as_written: set[Words] = set()
    left_out: list[NameLeftOut] = []
    for name in names_of(memory):
        why, only = _unfit(vocabulary, name), len(name) <= SHORT or name.isupper()
        if not (why or only) and (holding := _common(vocabulary, name)):
            why = f"it is common, in {holding:,} parts of notes, so only this spelling counts"
            left_out.append(NameLeftOut(name, why))
            only = True
        elif why:
            left_out.append(NameLeftOut(name, why))
            continue
        names.append(name)
        as_written |= {words_of(name)} if only else set()
    return SoughtNames(tuple(names), frozenset(as_written), tuple(left_out))


def _unfit(vocabulary: Vocabulary, name: str) -> str | None:
    """Why a name is not looked for."""
    words = [word for word in words_of(name) if word[0].isalnum()]
    if not words or (len(words) == 1 and len(name) == 1 and name.isascii()):
        return "it is a single sign, which says too little"
    if len(words) == 1 and words[0].isdecimal():
        return "it is a number, which says too little"
    if name.isupper() or len(words) > 1:
        return None
    if words[0] in stop_words() or _is_stop_word(vocabulary, words[0]):
        return "it is a word that every text has"
    return None


def _is_stop_word(vocabulary: Vocabulary, word: str) -> bool:
    """Whether a word is a stop word of a language of the vaults other than English."""
    if not vocabulary.languages:
        return False
    from djinn_memory.languages import detection

    return any(word in detection.stop_words(language) for language in vocabulary.languages)


def _common(vocabulary: Vocabulary, name: str) -> int:
    """In how many parts of notes a name of one word is, if it is common; else 0."""
    words = vocabulary.split(name)
    if len(words) != 1:
        return 0
    holding = vocabulary.holding(forms(words[0], vocabulary.languages))
    return holding if holding >= max(FEWEST, COMMON * vocabulary.total) else 0
