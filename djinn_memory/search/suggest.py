"""Near spellings of a query's words, from the words of the index."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from djinn_memory.search.backend import Index, Vocabulary
from djinn_memory.search.stop_words import stop_words
from djinn_memory.store.index.records import Selection, WordMatch
from djinn_memory.store.index.words import forms

MAX_WORDS = 20
"""Words of a query that are looked at."""

MIN_LENGTH = 3
"""A shorter word is like too many others."""

LIKENESS = 0.7
"""By `difflib`: one letter of four wrong, or two of seven."""

MAX_CANDIDATES = 20_000
"""Words of the index that one word is compared with: a tenth of a second."""


def near_spellings(index: Index, text: str) -> tuple[str, ...]:
    """For each word of `text` that the notes do not hold, the most alike one that they do.

    Only chunks of the index's vaults count, so that nothing of a hidden vault shows, not even that
    a word is there. The first letter is taken to be right.
    """
    vocabulary = index.words
    spellings: dict[str, None] = {}
    for word in dict.fromkeys(vocabulary.split(text)[:MAX_WORDS]):
        if _short(word) or _held(index, word):
            continue
        for stem in vocabulary.stems(word):
            near = difflib.get_close_matches(
                stem, vocabulary.near(stem, MAX_CANDIDATES), 20, cutoff=LIKENESS
            )
            spelled = (each for term in near for each in _spellings(index, term))
            best = next((each for each in spelled if _like(vocabulary, word, each)), None)
            if best:
                spellings[best] = None
                break
    return tuple(spellings)


def _held(index: Index, word: str) -> bool:
    """Whether some visible chunk holds a word, in any of its forms."""
    spellings = dict.fromkeys(forms(word, index.words.languages))
    match = WordMatch((tuple((form,) for form in spellings),))
    return bool(index.words.search(match, Selection(), 1))


def _like(vocabulary: Vocabulary, word: str, spelled: str) -> bool:
    return bool(difflib.get_close_matches(word, vocabulary.split(spelled), cutoff=LIKENESS))


def _short(word: str) -> bool:
    return len(word) < MIN_LENGTH or word in stop_words()


def _spellings(index: Index, term: str) -> Iterator[str]:
    """The words of some visible chunks whose stem is `term`."""
    vocabulary = index.words
    for text in index.words.texts_with(term, 3):
        for word in dict.fromkeys(re.findall(r"\w+", text.lower())):
            split = [] if _short(word) else vocabulary.split(word)
            if any(term in vocabulary.stems(each) for each in split):
                yield word
