"""Detects garbled text, which results from fonts without a character map."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from unicodedata import category, name

from djinn_memory.languages.detection import ENGLISH, LATIN, fold, stop_words

GARBLED = 0.35
"""Minimum share of garbled characters on a page that is not text. Real pages stay below .1."""

FEWEST = 20
"""Minimum number of characters in a text that is checked for garbling."""

BULLETS = 0.2
"""Maximum share of single private-use characters that count as bullets of a symbol font."""

FEWEST_WORDS = 20
"""Minimum number of different words or ideographs for deciding whether they form a language."""

COMMON = 0.7
"""Minimum share of common ideographs in Chinese or Japanese text. Of all ideographs in Unicode a
third are common."""

SYMBOLS = 0.6
"""Maximum share of symbols in a word that has more than three different characters."""

KNOWN_PAIRS = 0.66
"""Minimum share of known letter pairs in the words of a language. Texts in 15 languages have at
least .75; texts with a shifted or mixed alphabet have at most .62."""

_MORE_PAIRS = "dd dy gw gy hw hy iw nw ry wd wn wr ww wy yb ych yd yf yg yh ym yn yr ys yw ywb"
"""Letter pairs of Welsh that are missing from the other languages."""

_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{4,}")
_SYMBOL = re.compile("[!-/:-@[-`{-~\u00a1-\u00bf\u00d7\u00f7\u2010-\u22ff]")
_IDEOGRAPH = re.compile("[\u4e00-\u9fff]")
_FIRST_LEVELS = (
    ("gb2312", b"\xb0", b"\xd8"),
    ("big5", b"\xa4", b"\xc7"),
    ("shift_jis", b"\x88", b"\x99"),
)
"""For each encoding, the range of first bytes of common ideographs; the end is exclusive."""

_LATIN = re.compile(r"[A-Za-z]{5,}")

_BAD = frozenset({"Cc", "Cn", "Co", "Cs"})
"""Control, unassigned and private-use characters, and surrogates."""

_ALLIES = {
    "HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "IDEOGRAPHIC": "CJK",
    "BOPOMOFO": "CJK", "HANGUL": "CJK", "FULLWIDTH": "CJK", "HALFWIDTH": "CJK",
    "GREEK": "LATIN", "MATHEMATICAL": "LATIN", "MICRO": "LATIN", "OHM": "LATIN",
    "MODIFIER": "LATIN", "FEMININE": "LATIN", "MASCULINE": "LATIN",
}  # fmt: skip
"""Scripts that may occur together in a word: Japanese mixes three, formulas two."""


def garbled_share(text: str) -> float:
    """The share of the characters of `text`, 0 to 1, in words that exist in no language.

    Such words have unmapped glyphs, control characters, several scripts, Latin letters without a
    vowel, or many different symbols and no letter.
    """
    words = text.split()
    total = sum(map(len, words))
    bad = sum(len(word) for word in words if not _is_word(word))
    bullets = sum(len(word) == 1 and category(word) == "Co" for word in words)
    if bullets > BULLETS * len(words):
        bad += bullets
    return bad / total if total >= FEWEST else 0.0


def letters_drawn(text: str) -> int:
    """The number of letters and digits in `text`, including those that are unknown.

    Unknown letters are replacement, control and private-use characters.
    """
    counts = Counter(text)
    return sum(count for char, count in counts.items() if char.isalnum() or _unknown(char))


def _unknown(char: str) -> bool:
    return _script(char) == "?" and not char.isspace()


def is_no_language(text: str) -> bool:
    """Whether the letters of `text` form words of no language, as after a wrong font map.

    Languages share most pairs of neighbouring Latin letters, and texts consist of common
    ideographs. False for a text with few Latin words and few ideographs.
    """
    words = {fold(word) for word in _WORD.findall(text)}
    latin = [word for word in words if word.isascii()]
    if len(latin) >= max(FEWEST_WORDS, len(words) / 2):
        pairs = [pair for word in latin for pair in pairwise(word)]
        return sum(pair in _known_pairs() for pair in pairs) < KNOWN_PAIRS * len(pairs)
    ideographs = set(_IDEOGRAPH.findall(text))
    few = sum(map(_common, ideographs)) < COMMON * len(ideographs)
    return few and len(ideographs) >= FEWEST_WORDS


def _common(ideograph: str) -> bool:
    """Whether a national standard lists the ideograph in its first level, the common ones."""
    return any(
        first <= ideograph.encode(encoding, "ignore")[:1] < after
        for encoding, first, after in _FIRST_LEVELS
    )


@cache
def _known_pairs() -> frozenset[tuple[str, str]]:
    """The letter pairs that occur at least twice in function words of the supported languages."""
    words = [word for language in (ENGLISH, *LATIN) for word in stop_words(language)]
    counts = Counter(pair for word in words for pair in pairwise(word))
    more = {pair for word in _MORE_PAIRS.split() for pair in pairwise(word)}
    return frozenset(more | {pair for pair, count in counts.items() if count > 1})


def _is_word(word: str) -> bool:
    if word.isalnum():
        if word.isascii():
            return len(word) < 5 or not word.isalpha() or bool(_VOWELS.search(word))
    elif len(_SYMBOL.findall(word)) > SYMBOLS * len(word) and len(set(word)) > 3:
        return False
    if word.isascii():
        if not word.isprintable():
            return False
        runs = _LATIN.findall(word)
        if not runs:
            return any(map(str.isalnum, word)) or len(set(word)) < 4
        return any(map(_VOWELS.search, runs))
    scripts = [_script(char) for char in word]
    if "?" in scripts:
        return len(word) == 1 and category(word) == "Co"
    written = [script for script in scripts if script]
    switches = sum(script != following for script, following in pairwise(written))
    return switches < 2 or set(written) <= {"CJK", "LATIN"}


@lru_cache(maxsize=20_000)
def _script(char: str) -> str:
    """The script of a letter; "" for characters of all scripts, "?" for those that are not text."""
    kind = category(char)
    if kind in _BAD or char == "\ufffd":
        return "?"
    if kind[0] != "L":
        return ""
    first = name(char, "?").split()[0]
    return _ALLIES.get(first, first)
