"""Tells text from what a font without a map gives in its place."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import category, name

GARBLED = 0.35
"""From this share of unsound characters on a page is not text. Real pages stay below .1."""

FEWEST = 20
"""Fewer characters prove nothing."""

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
"""Scripts that stand in one word: Japanese writes three, formulas two."""


def unsound(text: str) -> float:
    """The share of the characters of `text`, 0 to 1, in words that cannot be words.

    Such are words with unmapped glyphs, with control characters, in several scripts at once, in
    Latin letters without a vowel, or of many different marks and no letter.
    """
    text, unmapped = _CID.subn(" ", text)
    total, bad = unmapped, unmapped
    for word in text.split():
        total += len(word)
        if not _sound(word):
            bad += len(word)
    return bad / total if total >= FEWEST else 0.0


def _sound(word: str) -> bool:
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
        # A symbol font's bullet is one character of private use.
        return len(word) == 1
    written = [script for script in scripts if script]
    switches = sum(one != other for one, other in pairwise(written))
    return switches < 2 or set(written) <= {"CJK", "LATIN"}


@lru_cache(maxsize=20_000)
def _script(char: str) -> str:
    """The script of a letter; empty for what all scripts share, `?` for what is no text."""
    kind = category(char)
    if kind in _BAD or char == "\ufffd":
        return "?"
    if kind[0] != "L":
        return ""
    first = name(char, "?").split()[0]
    return _ALLIES.get(first, first)
