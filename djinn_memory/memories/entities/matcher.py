"""Finds the names of entities in texts, as whole names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from djinn_memory.memories.entities.names import names_of
from djinn_memory.search.backend import Vocabulary
from djinn_memory.search.legs.words_query import MAX_TERMS, phrase, phrase_words
from djinn_memory.store.index.records import Forms, MemoryNames

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SIGNS = str.maketrans(dict.fromkeys("‘’‚“”„«»‹›–—…·•→←×°§©®™€£", " "))
"""Frequent signs that are no letters, so that a text with them is one of ASCII for its words."""

_Words = tuple[str, ...]


class Named(NamedTuple):
    """A name in a text."""

    entity: int
    """The number of the entity in the index."""
    name: str
    """The name, in the form in which names are compared."""
    line: int
    """The line of the text, from 0."""


class NameMatcher:
    """Finds the names of some entities in texts, as whole names, in one pass over each text.

    A name within a longer name of another entity does not count. Names of different entities may
    overlap otherwise.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        entities: Sequence[MemoryNames],
        everyone: Sequence[MemoryNames],
    ) -> None:
        self._vocabulary = vocabulary
        self._own: dict[_Words, set[int]] = defaultdict(set)
        self._names: dict[_Words, str] = {}
        for known in entities:
            for name in names_of(known):
                if words := self._phrase(name):
                    self._own[words].add(known.memory_id)
                    self._names[words] = name
        self._entities = {words: dict.fromkeys(own, True) for words, own in self._own.items()}
        """For each name the entities for which it matters, and whether it is a name of theirs. Else
        it is a longer name of another entity."""
        lengths = _lengths(self._own)
        for other in everyone:
            for name in names_of(other):
                longer = self._phrase(name)
                for at, inner in _names_in(longer, lengths, self._own):
                    if at or len(inner) < len(longer):
                        for entity in self._own[inner] - {other.memory_id}:
                            self._entities.setdefault(longer, {}).setdefault(entity, False)
        self._lengths = _lengths(self._entities)

    def forms(self, without: Collection[str] = ()) -> Forms:
        """The forms in which the index may contain the names, apart from some names."""
        kept = sorted(words for words in self._own if " ".join(words) not in without)
        listed = (form for words in kept for form in phrase(self._vocabulary, self._names[words]))
        return tuple(dict.fromkeys(listed))

    def find(self, text: str) -> list[Named]:
        """The names in a text, in order."""
        words, starts = self._split(text)
        listed: list[Named] = []
        if self._lengths.keys().isdisjoint(words):
            return listed
        free: dict[int, int] = {}
        for at, name in _names_in(words, self._lengths, self._entities):
            for entity, own in self._entities[name].items():
                if at >= free.get(entity, 0):
                    free[entity] = at + len(name)
                    if own:
                        line = bisect_right(starts, at) - 1
                        listed.append(Named(entity, " ".join(name), line))
        return listed

    def begins(self, line: str, title: str) -> bool:
        """Whether a line begins with the words of a title."""
        words, _ = self._split(title)
        return self._split(line)[0][: len(words)] == words

    def _phrase(self, name: str) -> _Words:
        if name.isascii():
            return tuple(_ASCII_WORD.findall(name.lower())[:MAX_TERMS])
        return tuple(phrase_words(self._vocabulary, name))

    def _split(self, text: str) -> tuple[list[str], list[int]]:
        """The words of a text, and the position of the first word of each line among them.

        ASCII needs no tokenizer. It takes a tenth of the time.
        """
        plain = (text if text.isascii() else text.translate(_SIGNS)).lower()
        words: list[str] = []
        starts: list[int] = []
        for line, written in zip(plain.split("\n"), text.split("\n"), strict=True):
            starts.append(len(words))
            words += (
                _ASCII_WORD.findall(line) if line.isascii() else self._vocabulary.split(written)
            )
        return words, starts


def _lengths(names: Iterable[_Words]) -> dict[str, list[int]]:
    """The numbers of words of the names with each first word, the largest first."""
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for words in names:
        lengths[words[0]].add(len(words))
    return {word: sorted(listed, reverse=True) for word, listed in lengths.items()}


def _names_in(
    words: Sequence[str], lengths: Mapping[str, Sequence[int]], names: Container[_Words]
) -> Iterator[tuple[int, _Words]]:
    """The names among words, each with its position; of those at one position longer ones first."""
    for at, word in enumerate(words):
        if word in lengths:
            for length in lengths[word]:
                name = tuple(words[at : at + length])
                if name in names:
                    yield at, name
