"""Languages in Latin script: which one a text is written in, and the stems of its words.

English is left to the index's own Porter stemmer. A stem of another language ends in `MARK`, which
keeps Porter off it and keeps it apart from English words that are written alike (`die`, `war`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

ENGLISH = "english"

LATIN = ("german", "french", "spanish", "italian", "portuguese", "dutch", "swedish")
"""Names as Snowball has them. To add one: its name here, its stop words in `stopwords.txt`."""

MARK = "\ue000"
"""Private use: FTS5 takes it for a letter, and no suffix of Porter's ends in it."""

CLEAR = 5
"""Function words that leave no doubt."""

READ = 4_000
"""Characters that are looked at to tell a language."""

_ACCENTS = "\u0300-\u036f"
_LETTERS = f"a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff{_ACCENTS}"
_WORD = re.compile(f"(?<![^\\W_])[{_LETTERS}]+(?![^\\W_])")
"""Of Latin letters only: what has a digit is a number or a name, and has no stem."""

_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>]+")
"""`.de`, `/la/`: names in an address are of no language."""

_GERMAN = re.compile("ü|ß")
"""Letters that none of the others writes, or hardly; Swedish has the other umlauts."""


def detect(text: str, among: Iterable[str] = LATIN, *, at_least: int = 2) -> str | None:
    """The language whose function words `text` has most of: English, one of `among`, or None.

    None where there is no telling: fewer than `at_least` different ones. English wins a tie, and
    a word that is also English tells of nothing.
    """
    wanted = {ENGLISH, *among}
    found = dict.fromkeys(_WORD.findall(_ADDRESS.sub(" ", text[:READ]).casefold()))
    counts: Counter[str] = Counter()
    for word in found:
        counts.update(_speakers().get(_fold(word), ()))
        if _GERMAN.search(word):
            counts["german"] += 1
    english = counts.pop(ENGLISH, 0)
    others = [(count, name) for name, count in counts.items() if name in wanted]
    best, name = max(others, default=(0, ""), key=lambda one: (one[0], -LATIN.index(one[1])))
    if best > english and best >= at_least:
        return name
    return ENGLISH if english else None


def detect_part(text: str, whole: str | None) -> str | None:
    """The language of a part of a text whose language is `whole`; see `detect`.

    A part of an English text is another's only on clear evidence: code and names have a few words
    like `todos` and `van`.
    """
    if whole == ENGLISH and text.isascii():
        return detect(text, at_least=CLEAR)
    return detect(text) or whole


def stemmed(text: str, language: str) -> str:
    """`text`, in lower case, with each Latin word in the form that `language`'s notes keep."""
    return _WORD.sub(lambda match: stem(match[0], language), text)


@lru_cache(maxsize=50_000)
def stem(word: str, language: str) -> str:
    """The marked stem of one word in lower case; a word that is not all Latin letters stays."""
    if not _WORD.fullmatch(word):
        return word
    folded = _fold(word)
    # Accents go first, so that one who types without them gets the same stem.
    return (_stemmer(language).stemWord(folded) or folded) + MARK if folded else word


@cache
def stop_words(language: str) -> frozenset[str]:
    """Words of `language` that say nothing about what is asked for, without accents."""
    return frozenset(map(_fold, listed(language)))


@cache
def listed(language: str) -> tuple[str, ...]:
    """The stop words of `language` as they are written."""
    lines = Path(__file__).with_name("stopwords.txt").read_text(encoding="utf-8").splitlines()
    return next((tuple(rest) for name, *rest in map(str.split, lines) if name == language), ())


@cache
def _speakers() -> dict[str, tuple[str, ...]]:
    """By function word: the languages that it tells of."""
    found: dict[str, list[str]] = {}
    for language in (ENGLISH, *LATIN):
        for word in stop_words(language):
            found.setdefault(word, []).append(language)
    # A lone letter may be a list's or an address's.
    return {
        word: tuple(names)
        for word, names in found.items()
        if len(word) > 1 and (ENGLISH not in names or len(names) == 1)
    }


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(language)


def _fold(word: str) -> str:
    if word.isascii():
        return word
    whole = unicodedata.normalize("NFKD", word.casefold())
    return re.sub(f"[{_ACCENTS}]", "", whole)
