"""Prepares words of non-Latin scripts for comparison.

All scripts are folded. Cyrillic and Arabic words are stemmed. Scripts without spaces are cut into
pairs of characters. So is Hangul, because particles are attached to its words.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from djinn_memory.languages.detection import stemmer, written_stop_words

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\U00020000-\U0003134f"
)
_MARKS = re.compile("[\u0610-\u061a\u064b-\u065f\u0670\u0640\u0591-\u05c7]")
"""Vowel signs of Arabic and Hebrew, and the Arabic stroke that only lengthens a word."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Accents without a composed letter. FTS5 drops them, so they must not end a word earlier."""

_CLUSTER = re.compile(f"[{UNSPACED}](?:[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a])*")
_RUN = re.compile(f"[{UNSPACED}]+")
_CYRILLIC = re.compile("[\u0400-\u052f]+")
_ARABIC = re.compile("[\u0620-\u064a\u066e-\u06d3]+")
_HIRAGANA = re.compile("[\u3041-\u3096]+")
_HAN = re.compile("[\u3400-\u9fff々]+")
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_THAI = re.compile("[\u0e00-\u0e7f]+")

# Several shapes of one letter; digits become those of ASCII.
_SAME = str.maketrans("أإآٱىیئؤکە٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹๐๑๒๓๔๕๖๗๘๙", "اااايييوكه" + 3 * "0123456789")

# Larkey's light10 (2007), with the possessives "our" and "their". Snowball's Arabic stemmer does
# not reduce a definite noun with "and" before it, and keeps the ha often typed for ta marbuta.
_ARTICLES = ("ال", "وال", "بال", "كال", "فال", "لل", "ولل")
_ENDINGS = ("ها", "نا", "هم", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
_POSSESSIVES = ("ها", "نا", "هم", "ه", "ي")


def fold(text: str) -> str:
    """`text` without differences of case, compatibility form, vowel signs and letter shapes."""
    text = unicodedata.normalize("NFKC", text).casefold()
    # The lower case of some letters is not composed.
    text = unicodedata.normalize("NFKC", text).translate(_SAME)
    return _ACCENTS.sub("", _MARKS.sub("", text))


def cut(text: str) -> str:
    """Folded text with Cyrillic and Arabic words as stems, and unspaced runs as pairs.

    A run of n characters becomes its n-1 pairs and its last character. So every character begins a
    word, and a query of a single character can be a prefix query.
    """
    text = _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)
    text = _CYRILLIC.sub(lambda word: _russian(word[0]), text)
    return _ARABIC.sub(lambda word: _arabic(word[0]), text)


def unspaced(word: str) -> bool:
    """Whether a word begins in a script that is cut into pairs."""
    return bool(_CLUSTER.match(word))


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the characters and pairs in unspaced runs of unfolded text."""
    for run in _RUN.finditer(text):
        units = [unit.span() for unit in _CLUSTER.finditer(text, *run.span())]
        yield from units
        yield from ((first[0], second[1]) for first, second in itertools.pairwise(units))


def without_question_words(text: str) -> str:
    """Folded text without the particles and question words of a question.

    The result consists of whole words of `text` or pieces of unspaced runs. Returns all of `text`
    when nothing else would be left.
    """
    left = _HANGUL.sub(lambda word: _korean(word[0]), text)
    left = _without_stop_words(_CYRILLIC, "russian", left)
    left = _without_stop_words(_ARABIC, "arabic", left)
    if _KANA.search(left):
        left = _HIRAGANA.sub(lambda run: _japanese(run, left), left)
        left = _phrases("japanese", "[\u3400-\u9fff]").sub(" ", left)
    else:
        left = _HAN.sub(lambda run: _phrases("chinese", "").sub(" ", run[0]), left)
    left = _THAI.sub(lambda run: _phrases("thai", "").sub(" ", run[0]), left)
    return left if re.search(r"[^\W_]", left) else text


def _pairs(run: str) -> list[str]:
    units = _CLUSTER.findall(run)
    return [*map("".join, itertools.pairwise(units)), *units[-1:]]


@lru_cache(maxsize=50_000)
def _russian(word: str) -> str:
    return stemmer("russian").stemWord(word) or word


@lru_cache(maxsize=50_000)
def _arabic(word: str) -> str:
    word = word.replace("ة", "ه")
    if word.startswith("و") and len(word) > 3:
        word = word[1:]
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + 2:
            word = word[len(article) :]
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            word = word[: -len(ending)]
            # Before a possessive, ta marbuta becomes an open ta.
            if ending in _POSSESSIVES and word.endswith("ت") and len(word) > 4:
                word = word[:-1]
    return word


def _without_stop_words(pattern: re.Pattern[str], language: str, text: str) -> str:
    """`text` without the stop words of a script's language."""
    return pattern.sub(lambda word: " " if word[0] in _folded(language) else word[0], text)


@cache
def _folded(language: str) -> frozenset[str]:
    return frozenset(map(fold, written_stop_words(language)))


@cache
def _phrases(language: str, having: str) -> re.Pattern[str]:
    """Matches the stop words of a language that contain one of `having`, longest first."""
    words = [word for word in _folded(language) if re.search(having, word)]
    return re.compile("|".join(sorted(words, key=len, reverse=True)))


def _korean(word: str) -> str:
    """A Korean word without its particle; a space for a question word."""
    stops = _folded("korean")
    for _ in range(3):
        if word in stops:
            return " "
        # Nouns of two syllables often end like a particle, but not like these two.
        endings = written_stop_words("korean-endings")
        ending = next((end for end in endings if word.endswith(end)), "")
        shortest = 1 if ending in ("는", "를") else 2
        if not ending or (len(word) - len(ending) < shortest and word[: -len(ending)] not in stops):
            break
        word = word[: -len(ending)]
        if len(ending) == 1 and ending != "요":
            break
    return " " if word in stops else word


def _japanese(run: re.Match[str], text: str) -> str:
    """The part of a run of hiragana that is not grammar.

    The ending of an inflected word stays with the word: 届きます becomes 届き and 届.
    Both match 届く.
    """
    before = text[max(0, run.start() - 1) : run.start()]
    after = text[run.end() : run.end() + 1]
    inflected = bool(_HAN.match(before))
    left = _without_grammar(run[0], alone=not inflected)
    if left == run[0] and len(left) <= 2 and _HAN.match(after):
        return left
    if inflected and left and run[0].startswith(left):
        # Two Han characters form a word.
        compound = _HAN.match(text[max(0, run.start() - 2) : run.start() - 1])
        return " " if compound else f"{left[0]} {before} "
    return f" {left} "


def _without_grammar(run: str, *, alone: bool) -> str:
    """A run of hiragana without the grammar at its ends. The longest ending is removed first.

    A word that stands `alone` keeps at least two letters, because a single letter would be a part
    of a word.
    """
    stops = _folded("japanese")
    for end in (True, False):
        while run:
            sizes = range(len(run), 0, -1)
            size = next((n for n in sizes if (run[-n:] if end else run[:n]) in stops), 0)
            left = run[:-size] if end else run[size:]
            if not size or (alone and len(left) == 1 and left not in stops):
                break
            run = left
    return run
