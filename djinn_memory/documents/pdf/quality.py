"""Detects garbled text, as a font without a character map gives it."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import category, name

GARBLED = 0.35
"""Share of garbled characters from which a page is not text. Real pages stay below .1."""

FEWEST = 20
"""Fewer characters are never called garbled."""

_CID = re.compile(r"\(cid:\d+\)")
_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)
_LATIN = re.compile(r"[A-Za-z]{5,}")

_BAD = frozenset({"Cc", "Cn", "Co", "Cs"})
"""Control characters, unassigned ones, those of private use, halves of surrogates."""

_ALLIES = {
    "HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "IDEOGRAPHIC": "CJK",
    "BOPOMOFO": "CJK", "HANGUL": "CJK", "FULLWIDTH": "CJK", "HALFWIDTH": "CJK",
    "GREEK": "LATIN", "MATHEMATICAL": "LATIN", "MICRO": "LATIN", "OHM": "LATIN",
    "MODIFIER": "LATIN", "FEMININE": "LATIN", "MASCULINE": "LATIN",
}  # fmt: skip
"""Scripts that may share a word: Japanese mixes three, formulas two."""


def garbled_share(text: str) -> float:
    """The share of the characters of `text`, 0 to 1, in words that no language writes.

    Such words have unmapped glyphs, control characters, several scripts at once, Latin letters
    without a vowel, or many different marks and no letter.
    """
    text, unmapped = _CID.subn(" ", text)
    total, bad = unmapped, unmapped
    for word in text.split():
        total += len(word)
        if not _is_word(word):
            bad += len(word)
    return bad / total if total >= FEWEST else 0.0


def _is_word(word: str) -> bool:
    if word.isascii():
        if word.isalnum():
            return len(word) < 5 or not word.isalpha() or bool(_VOWELS.search(word))
        if not word.isprintable():
            return False
        runs = _LATIN.findall(word)
        if not runs:
            return any(map(str.isalnum, word)) or len(set(word)) < 4
        return any(map(_VOWELS.search, runs))
    scripts = [_script(char) for char in word]
    if "?" in scripts:
        # A bullet of a symbol font is a single character of private use.
        return len(word) == 1
    written = [script for script in scripts if script]
    switches = sum(script != following for script, following in pairwise(written))
    return switches < 2 or set(written) <= {"CJK", "LATIN"}


@lru_cache(maxsize=20_000)
def _script(char: str) -> str:
    """The script of a letter; "" for characters of all scripts, "?" for those that are no text."""
    kind = category(char)
    if kind in _BAD or char == "\ufffd":
        return "?"
    if kind[0] != "L":
        return ""
    first = name(char, "?").split()[0]
    return _ALLIES.get(first, first)
