"""Turns a question into words to look for."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.languages.word_lists import stop_words
from djinn_memory.models import Problem
from djinn_memory.search.backend import Vocabulary
from djinn_memory.store.index.records import Forms, WordMatch
from djinn_memory.store.index.words import forms

MAX_TERMS = 100
"""Maximum words looked for from a query or a phrase. A pasted page is cut here."""

MAX_TIMES = 3
"""Maximum number of times that a repeated word counts."""

LOOKUP_TERMS = 4
"""A query of at most this many words matches a chunk with all of them, whatever the scores."""

SATURATED = 2.2
"""k1 + 1: the maximum BM25 score of one word, in units of its rarity."""

RARE_WORDS = 2.5
"""This many words of maximum rarity, all matched, are a full match, however long the query."""

CUT = Problem("query", f"only the first {MAX_TERMS} words of it, or of a phrase, are looked for")

_POSSESSIVE = re.compile(r"['’]s\b")


class WordsQuery(Struct, frozen=True):
    """A question as words to look for."""

    terms: tuple[Forms, ...]
    """The words. A repeated word counts as often, up to `MAX_TIMES`."""
    pairs: tuple[Forms, ...]
    """The neighbouring pairs."""
    looked_up: tuple[Forms, ...]
    """The words of a short query, which may all occur in one chunk; empty for a longer query."""
    stems: frozenset[str]
    full: float
    """The score of a full match."""
    added: WordsQuery | None = None
    """Words that expand the question."""

    @property
    def any(self) -> WordMatch:
        """Matches any of the words."""
        return WordMatch(self.terms + (self.added.terms if self.added else ()))

    @property
    def marked(self) -> frozenset[str]:
        """Stems of all words."""
        return self.stems | self.added.stems if self.added else self.stems

    def share(self, score: float) -> float:
        """A BM25 score as a number from 0 to 1, comparable between queries and vaults."""
        return min(1.0, score / self.full) if self.full > 0 else 0.0


def compose(
    vocabulary: Vocabulary, texts: Sequence[str], added: Sequence[str] = ()
) -> WordsQuery | None:
    """Turn texts into a query; None when they contain no word.

    `added` expands it, see `score`. `looked_up` comes from the first text. Pairs are neighbours
    within a text. Each word is looked for in all forms that the languages of the index give it.
    Stop words are dropped unless all words are stop words.

    `full` is the lower of two scores: that of a text with every word, and that of a few very rare
    words. It is `min(2.2 * sum(idf), 5.5 * ln(2N))`, for N chunks, with BM25's own idf.
    """
    held = vocabulary.languages
    language = _language(" ".join(texts), held)
    split = [_split(vocabulary, text, language) for text in texts]
    if not any(keep for text in split for _, keep in text):
        split = [[(word, True) for word, _ in text] for text in split]
    terms = [[word for word, keep in text if keep] for text in split]
    every = [word for text in terms for word in text][:MAX_TERMS]
    every = [word for at, word in enumerate(every) if every[:at].count(word) < MAX_TIMES]
    more = compose(vocabulary, added) if added else None
    if not every:
        return more
    known = _known(vocabulary, every, language)
    looked_up = tuple(known[word].forms for word in terms[0] if word in known)
    total = vocabulary.total or 1
    rarity = sum({term.stems: term.rarity for term in known.values() if term.stems}.values())
    return WordsQuery(
        tuple(known[word].forms for word in every),
        tuple(_pairs(split, held)),
        looked_up if len(looked_up) <= LOOKUP_TERMS else (),
        frozenset(stem for term in known.values() for stem in term.stems),
        min(SATURATED * rarity, SATURATED * RARE_WORDS * math.log(2 * total)),
        more,
    )


class _Term(Struct):
    """A word of a question, as it occurs in the index."""

    forms: Forms
    stems: tuple[str, ...]
    rarity: float


def _known(vocabulary: Vocabulary, terms: Sequence[str], language: str | None) -> dict[str, _Term]:
    known: dict[str, _Term] = {}
    unseen: list[str] = []
    for word in dict.fromkeys(terms):
        spellings = tuple(dict.fromkeys(forms(word, vocabulary.languages)))
        stems = tuple(vocabulary.stems(word))
        rarity = vocabulary.rarity(spellings)
        known[word] = _Term(tuple((form,) for form in spellings), stems, rarity)
        if not vocabulary.holding(spellings):
            unseen.append(word)
    for word in unseen:
        term, any_seen = known[word], len(unseen) < len(known)
        others = _others(vocabulary, word, language, any_seen)
        term.forms += tuple((other,) for other in others)
        term.stems += tuple(others)
    return known


def _pairs(split: Sequence[Sequence[tuple[str, bool]]], held: Sequence[str]) -> dict[Forms, None]:
    """Pairs of neighbours within a text, as phrases, without repetitions."""
    return {
        ((left, right),): None
        for text in split
        for (word, keep), (after, keep_after) in itertools.pairwise(text)
        if keep and keep_after and word != after
        for left, right in zip(forms(word, held), forms(after, held), strict=True)
    }


def _split(vocabulary: Vocabulary, text: str, language: str | None) -> list[tuple[str, bool]]:
    """The words of a text, and whether each matters for the question."""
    words = vocabulary.split(_prepared(_POSSESSIVE.sub("", text)))[:MAX_TERMS]
    dropped = _stop_words_of(language)
    return [
        (word, word not in dropped) for at, word in enumerate(words) if not _tail_of_run(words, at)
    ]


def _others(vocabulary: Vocabulary, term: str, language: str | None, any_seen: bool) -> list[str]:
    """Terms to look for instead of a word that is not in the index."""
    if _unspaced(term):
        # Two words of one character each, where nothing else of the question is known.
        return [] if any_seen or len(term) != 2 else list(term)
    if "german" in vocabulary.languages and language in (None, "german"):
        stem = forms(term, ["german"])[-1]
        # A number has no stem.
        return vocabulary.compounds(stem) if stem != term else []
    return []


def overlong(vocabulary: Vocabulary, texts: Sequence[str]) -> bool:
    """Whether one of the texts has more words than the search looks for."""
    return any(
        len(text) > MAX_TERMS and len(vocabulary.split(_prepared(text))) > MAX_TERMS
        for text in texts
    )


def phrase(vocabulary: Vocabulary, text: str) -> Forms:
    """`text` as one phrase, in each of its forms; empty when it contains no word."""
    words = phrase_words(vocabulary, text)
    if not words:
        return ()
    spoken = zip(*(forms(word, vocabulary.languages) for word in words), strict=True)
    return tuple(dict.fromkeys(spoken))


def phrase_words(vocabulary: Vocabulary, text: str) -> list[str]:
    """The words of a phrase as a text that contains it has them, in order."""
    words = vocabulary.split(text)[:MAX_TERMS]
    # Inside the phrase a run ends where it ends in the text; the last may go on there.
    if words and _tail_of_run(words, len(words) - 1):
        del words[-1]
    return words


def content(vocabulary: Vocabulary, text: str) -> frozenset[str]:
    """The stems of the content words of a question, or of all its words if all are stop words."""
    words = _split(vocabulary, text, _language(text, vocabulary.languages))
    chosen = [word for word, keep in words if keep] or [word for word, _ in words]
    return frozenset(vocabulary.stemmed(" ".join(chosen)))


def _language(text: str, held: Sequence[str]) -> str | None:
    """The language of a question: English, a language of the index, or None if unclear."""
    if not held:
        return None
    from djinn_memory.languages.detection import detect

    return detect(text, held, at_least=1)


def _stop_words_of(language: str | None) -> frozenset[str]:
    if language in (None, "english"):
        return stop_words()
    from djinn_memory.languages import detection

    return detection.stop_words(language)


def _prepared(text: str) -> str:
    if text.isascii():
        return text
    from djinn_memory.languages import scripts

    return scripts.without_question_words(scripts.fold(text))


def _tail_of_run(words: Sequence[str], at: int) -> bool:
    """Whether a word is the single last character that `prepare` puts after a run's pairs."""
    word = words[at]
    before = words[at - 1] if at else ""
    return len(before) > len(word) and before.endswith(word) and _unspaced(word)


def _unspaced(word: str) -> bool:
    if word.isascii():
        return False
    from djinn_memory.languages import scripts

    return scripts.unspaced(word)
