"""Languages in Latin script: the language of a text, and the stems of its words.

The index stems English with its own Porter stemmer. A stem of another language ends in `MARK`.
Porter does not change such a stem, and it differs from an English word of the same spelling (`die`,
`war`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

ENGLISH = "english"

LATIN = ("german", "french", "spanish", "italian", "portuguese", "dutch", "swedish")
"""Snowball's names. To add a language, add its name here and its stop words to `stopwords.txt`."""

MARK = "\ue000"
"""A private-use character. FTS5 treats it as a letter, and no Porter suffix ends in it."""

CLEAR = 5
"""Number of function words that identify a language without doubt."""

READ = 4_000
"""Characters of a text that are read to detect its language."""

_ACCENTS = "\u0300-\u036f"
_LETTERS = f"a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff{_ACCENTS}"
_LETTER = re.compile(f"[{_LETTERS}]")
_WORD = re.compile(f"(?<![^\\W_])[{_LETTERS}]+(?![^\\W_])")
"""A word of Latin letters only. A word with a digit is a number or a name and is not stemmed."""

_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>]+")
"""An address. Its parts, such as `.de` and `/la/`, belong to no language."""

_GERMAN = re.compile("ü|ß")
"""Letters that are rare in the other languages. Swedish has the other umlauts."""


def detect(text: str, among: Iterable[str] = LATIN, *, at_least: int = 2) -> str | None:
    """The language with most function words in `text`: English, one of `among`, or None.

    None with fewer than `at_least` different function words. English wins a tie. Words that also
    exist in English do not count for other languages.
    """
    wanted = {ENGLISH, *among}
    text = _ADDRESS.sub(" ", text[:READ]).casefold()
    words = set(_WORD.findall(text))
    counts: Counter[str] = Counter()
    if text.isascii():
        counts.update(_counted(words))
    else:
        for word in words:
            counts.update(_counted((fold(word),)))
            if _GERMAN.search(word):
                counts["german"] += 1
    english = counts.pop(ENGLISH, 0)
    others = [(count, name) for name, count in counts.items() if name in wanted]
    best, name = max(others, default=(0, ""), key=lambda other: (other[0], -LATIN.index(other[1])))
    if best > english and best >= at_least:
        return name
    return ENGLISH if english else None


def is_latin(text: str) -> bool:
    """Whether at least half of the letters in `text` are Latin, or there are none."""
    letters = [letter for letter in text.casefold() if letter.isalpha()]
    return 2 * sum(bool(_LETTER.match(letter)) for letter in letters) >= len(letters)


def _counted(words: Collection[str]) -> Iterator[str]:
    """The languages that each of these words indicates."""
    languages = _languages_of_words()
    return chain.from_iterable(languages[word] for word in languages.keys() & words)


def detect_part(text: str, whole: str | None) -> str | None:
    """The language of a part of a text whose language is `whole`; see `detect`.

    A part of an English text needs clear evidence for another language, because code and names
    contain words like `todos` and `van`.
    """
    if whole == ENGLISH and text.isascii():
        return detect(text, at_least=CLEAR)
    return detect(text) or whole


def stemmed(text: str, language: str) -> str:
    """`text`, in lower case, with each Latin word replaced by its stem in `language`."""
    return _WORD.sub(lambda match: stem(match[0], language), text)


@lru_cache(maxsize=50_000)
def stem(word: str, language: str) -> str:
    """The marked stem of a lower-case word. A word with non-Latin letters is unchanged."""
    if not _WORD.fullmatch(word):
        return word
    folded = fold(word)
    # Accents are removed first, so that a word typed without them has the same stem.
    return (stemmer(language).stemWord(folded) or folded) + MARK if folded else word


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of `language` without accents. They add nothing to a question."""
    return frozenset(map(fold, written_stop_words(language)))


def written_stop_words(language: str) -> tuple[str, ...]:
    """The stop words of `language` as written."""
    return _written_stop_words().get(language, ())


@cache
def _written_stop_words() -> dict[str, tuple[str, ...]]:
    lines = Path(__file__).with_name("stopwords.txt").read_text(encoding="utf-8").splitlines()
    return {name: tuple(words) for name, *words in map(str.split, lines)}


@cache
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    """The languages that each function word indicates."""
    languages: dict[str, list[str]] = {}
    for language in (ENGLISH, *LATIN):
        for word in stop_words(language):
            languages.setdefault(word, []).append(language)
    # A single letter may come from a list or an address.
    return {
        word: tuple(names)
        for word, names in languages.items()
        if len(word) > 1 and (ENGLISH not in names or len(names) == 1)
    }


@cache
def stemmer(language: str) -> Any:
    """Snowball's stemmer of a language."""
    import Stemmer

    return Stemmer.Stemmer(language)


def fold(word: str) -> str:
    """`word` in lower case without accents."""
    if word.isascii():
        return word.lower()
    whole = unicodedata.normalize("NFKD", word.casefold())
    return re.sub(f"[{_ACCENTS}]", "", whole)
