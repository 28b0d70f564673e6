"""Detects garbled text, as a font without a character map gives it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from unicodedata import category, name

from djinn_memory.languages.detection import ENGLISH, LATIN, fold, stop_words

GARBLED = 0.35
"""Share of garbled characters from which a page is not text. Real pages stay below .1."""

FEWEST = 20
"""Fewer characters are never called garbled."""

BULLETS = 0.2
"""Share of words up to which a single character of private use is the bullet of a symbol font."""

FEWEST_WORDS = 20
"""Fewer different words, or ideographs, do not show whether they are of a language."""

COMMON = 0.7
"""Share of common ideographs below which Chinese or Japanese is not text; of all ideographs of
Unicode a third are common."""

SYMBOLS = 0.6
"""Share of symbols above which a word of many different characters is none."""

KNOWN_PAIRS = 0.66
"""Share of known pairs of letters below which words are of no language. Texts in 15 languages have
.75 and more, texts with a shifted or mixed alphabet at most .62."""

_MORE_PAIRS = "dd dy gw gy hw hy iw nw ry wd wn wr ww wy yb ych yd yf yg yh ym yn yr ys yw ywb"
"""Pairs of Welsh, which the other languages lack."""

_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{4,}")
_SYMBOL = re.compile("[!-/:-@[-`{-~\u00a1-\u00bf\u00d7\u00f7\u2010-\u22ff]")
_IDEOGRAPH = re.compile("[\u4e00-\u9fff]")
_FIRST_LEVELS = (
    ("gb2312", b"\xb0", b"\xd8"),
    ("big5", b"\xa4", b"\xc7"),
    ("shift_jis", b"\x88", b"\x99"),
)
"""The first bytes of the common ideographs in an encoding: from the first to before the second."""

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
    words = text.split()
    total = sum(map(len, words))
    bad = sum(len(word) for word in words if not _is_word(word))
    bullets = sum(len(word) == 1 and category(word) == "Co" for word in words)
    if bullets > BULLETS * len(words):
        bad += bullets
    return bad / total if total >= FEWEST else 0.0


def letters_drawn(text: str) -> int:
    """The number of letters and digits in `text`, with the characters that stand for unknown ones.

    Those are replacement characters, control characters and those of private use.
    """
    counts = Counter(text)
    return sum(count for char, count in counts.items() if char.isalnum() or _unknown(char))


def unknown_share(text: str) -> float:
    """The share of letters and digits, 0 to 1, that are unknown; see `letters_drawn`."""
    drawn = letters_drawn(text)
    return 1 - sum(map(str.isalnum, text)) / drawn if drawn else 0.0


def _unknown(char: str) -> bool:
    return _script(char) == "?" and not char.isspace()


def is_no_language(text: str) -> bool:
    """Whether the letters of `text` form words of no language, as those of a false font map.

    Languages share most pairs of neighbouring Latin letters, and texts consist of common
    ideographs. False for a text with few words of either kind.
    """
    words = {fold(word) for word in _WORD.findall(text)}
    latin = [word for word in words if word.isascii()]
    if len(latin) >= max(FEWEST_WORDS, len(words) / 2):
        pairs = [pair for word in latin for pair in pairwise(word)]
        return sum(pair in _known_pairs() for pair in pairs) < KNOWN_PAIRS * len(pairs)
    ideographs = set(_IDEOGRAPH.findall(text))
    return len(ideographs) >= FEWEST_WORDS and sum(map(_common, ideographs)) < COMMON * len(
        ideographs
    )


def _common(ideograph: str) -> bool:
    """Whether a national standard lists the ideograph among the common ones, its first level."""
    return any(
        first <= ideograph.encode(encoding, "ignore")[:1] < after
        for encoding, first, after in _FIRST_LEVELS
    )


@cache
def _known_pairs() -> frozenset[tuple[str, str]]:
    """The pairs of letters in more than one function word of the languages that djinn knows."""
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
    """The script of a letter; "" for characters of all scripts, "?" for those that are no text."""
    kind = category(char)
    if kind in _BAD or char == "\ufffd":
        return "?"
    if kind[0] != "L":
        return ""
    first = name(char, "?").split()[0]
    return _ALLIES.get(first, first)
