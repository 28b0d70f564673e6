"""The features of a message: its content words, and pairs of neighbouring ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from djinn_memory.languages.days import MONTHS, WEEKDAYS
from djinn_memory.languages.word_lists import stop_words

MOST_WORDS = 40
"""The words of a message that are read."""

_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*[^\W_])?")

_MEETING = re.compile(r"\b(?:one|1)[\s-]?(?:on|to|:)[\s-]?(?:one|1)\b", re.IGNORECASE)
"""A meeting whose name has no word but stop words: `one on one`, `1:1`."""

_TIMES = frozenset({
    *MONTHS, *WEEKDAYS, "today", "tomorrow", "tonight", "yesterday", "morning", "afternoon",
    "evening", "night", "noon", "midnight", "am", "pm", "monthly", "daily", "utc", "gmt",
})  # fmt: skip
"""Words that name a time. That they occur at that time is no habit."""

_EMPTY = frozenset({
    "again", "also", "done", "dont", "don't", "get", "getting", "go", "going", "gone", "got",
    "hello", "hey", "hi", "i'd", "i'll", "i'm", "i've", "it's", "just", "let", "let's", "lets",
    "need", "needs", "now", "ok", "okay", "one", "please", "really", "some", "still", "thank",
    "thanks", "that's", "time", "us", "usual", "want", "wants", "went", "will", "would", "yes",
})  # fmt: skip
"""Words that say little about an action."""


@lru_cache(maxsize=50_000)
def stem_of(word: str) -> str:
    """The stem of a word; empty for a word that says nothing about an action."""
    plain = word.casefold().replace("’", "'")
    if plain in stop_words() or plain in _EMPTY or plain in _TIMES or len(plain) < 2:
        return ""
    from djinn_memory.languages.detection import stemmer

    stem: str = stemmer("english").stemWord(plain.removesuffix("'s"))
    return stem


def stems_of(text: str) -> Sequence[str]:
    """The stems of the content words of a text, in order."""
    text = _MEETING.sub("one-on-one", text[:1_000])
    stems = (stem_of(match[0]) for match in _WORD.finditer(text))
    return [stem for stem in stems if stem][:MOST_WORDS]


def features_of(text: str) -> set[str]:
    """The stems of a text, and its pairs of neighbouring stems, each pair in alphabetical order."""
    stems = stems_of(text)
    pairs = pairwise(stems)
    return {*stems, *(" ".join(sorted(pair)) for pair in pairs if pair[0] != pair[1])}
