"""Suggests similar spellings for words of a query, tags, types and titles."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from posixpath import basename

from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import current_wording
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.models import Filters, Problem
from djinn_memory.notes.slugs import fold
from djinn_memory.search.backend import Index, Vocabulary
from djinn_memory.store.index.records import Selection, WordMatch
from djinn_memory.store.index.words import forms

MAX_WORDS = 20
"""Words of a query that are examined."""

MIN_LENGTH = 3
"""Minimum length of a word that is compared: a shorter word is similar to too many others."""

LIKENESS = 0.7
"""Minimum similarity by `difflib`: one letter of four wrong, or two of seven."""

MOST_NEAR = 3
"""Maximum number of suggested values."""

OFTEN = 2
"""Minimum occurrences of a suggested word, titles included. A word that stands once in the notes
may be a slip itself."""

MAX_CANDIDATES = 20_000
"""Maximum number of index words that one word is compared with, which takes a tenth of a second."""


def near_spellings(index: Index, text: str) -> tuple[str, ...]:
    """The most similar word in the notes for each word of `text` that is not in the notes.

    A word that the packaged model reads in one piece is an ordinary English word, and not a slip.
    Only chunks of the index's vaults count, so nothing about hidden vaults is revealed, not even
    that a word exists. The first letter is assumed to be correct.
    """
    vocabulary = index.words
    spellings: dict[str, None] = {}
    for word in dict.fromkeys(vocabulary.split(text)[:MAX_WORDS]):
        if _short(word) or len(token_starts(word)) < 2 or _held(index, word):
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


def unknown_values(index: Index, filters: Filters) -> tuple[Problem, ...]:
    """A problem for each tag, type and domain of a filter that no visible memory has."""
    problems = []
    alone = [("tags", tag, Filters(tags=(tag,))) for tag in filters.tags]
    alone += [("types", kind, Filters(types=(kind,))) for kind in filters.types]
    alone += [("domains", name, Filters(domains=(name,))) for name in filters.domains]
    for field, value, only in alone:
        if not index.count(Selection(only)):
            near = alike(value, index.values(field.removesuffix("s")))
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            what = f"{current_wording().argument(field)} {value}"
            problems.append(Problem(what, f"no memory has it{meant}"))
    return tuple(problems)


def near_titles(index: Index, name: str) -> list[str]:
    """The titles of visible memories that are spelled similarly to a name, or that contain it."""
    titles: dict[str, str] = {}
    for ref in index.titles():
        titles.setdefault(fold(ref.title), ref.title)
        titles.setdefault(fold(basename(ref.path).removesuffix(".md")), ref.title)
    return _near(fold(name), titles, MIN_LENGTH)


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """The names that are spelled similarly to a name, or that contain it, at most `MOST_NEAR`."""
    return _near(fold(name.strip()), {fold(each): each for each in names}, 1)


def _near(wanted: str, names: dict[str, str], least: int) -> list[str]:
    """The names that are alike, then those that contain the wanted one of `least` characters."""
    near = [names[key] for key in alike(wanted, names)]
    if len(wanted) >= least:
        near += [name for key, name in names.items() if key.startswith(wanted)]
        near += [name for key, name in names.items() if wanted in key]
    return [*dict.fromkeys(near)][:MOST_NEAR]


def alike(text: str, values: Iterable[str]) -> list[str]:
    """The values that are spelled similarly to a text, the most similar first."""
    wanted = fold(text)
    # Comparing takes 10 us, so values of quite another length are passed over.
    room = len(wanted) // 3 + 1
    near = {fold(value): value for value in values if abs(len(value) - len(wanted)) <= room}
    keys = [*near][:MAX_CANDIDATES]
    return [near[key] for key in difflib.get_close_matches(wanted, keys, MOST_NEAR, LIKENESS)]


def _held(index: Index, word: str) -> bool:
    """Whether any visible chunk contains a word in any of its forms."""
    spellings = dict.fromkeys(forms(word, index.words.languages))
    match = WordMatch((tuple((form,) for form in spellings),))
    return bool(index.words.search(match, Selection(), 1))


def _like(vocabulary: Vocabulary, word: str, spelled: str) -> bool:
    return bool(difflib.get_close_matches(word, vocabulary.split(spelled), cutoff=LIKENESS))


def _short(word: str) -> bool:
    return len(word) < MIN_LENGTH or word in stop_words()


def _spellings(index: Index, term: str) -> Iterator[str]:
    """The spellings of `term`, a stem, in some visible chunks that have it often enough."""
    vocabulary = index.words
    words = Counter(re.findall(r"\w+", " ".join(vocabulary.texts_with(term, 3)).lower()))
    spelled = [
        word
        for word in words
        if not _short(word)
        and any(term in vocabulary.stems(each) for each in vocabulary.split(word))
    ]
    if sum(words[word] for word in spelled) >= OFTEN:
        yield from spelled
