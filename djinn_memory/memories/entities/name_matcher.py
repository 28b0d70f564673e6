"""Finds whole names among the words of a text, in one pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from djinn_memory.memories.entities.names import Named, names_of

Words = tuple[str, ...]
"""The words of a name, in the form in which names are compared."""


class NameAt(NamedTuple):
    """A name among words."""

    memory_id: int
    """The number of the memory that has the name."""
    name: Words
    at: int
    """The position of its first word."""


class NameMatcher:
    """Finds the names of some memories among words, as whole names.

    A name within a longer name of another memory does not count. Names of different memories may
    overlap otherwise.
    """

    def __init__(
        self, split: Callable[[str], Words], named: Iterable[Named], everyone: Iterable[Named]
    ) -> None:
        """`split` returns the words of a name. A name without words is not looked for."""
        self.own: dict[Words, set[int]] = defaultdict(set)
        """The memories with each name."""
        self.written: dict[Words, str] = {}
        """The names as the notes write them."""
        for memory in named:
            for name in names_of(memory):
                if words := split(name):
                    self.own[words].add(memory.memory_id)
                    self.written[words] = name
        self._memories = {words: dict.fromkeys(own, True) for words, own in self.own.items()}
        """For each name the memories for which it matters, and whether it is a name of theirs. Else
        it is a longer name of another memory."""
        lengths = _lengths(self.own)
        for other in everyone:
            for name in names_of(other):
                longer = split(name)
                for at, inner in _names_in(longer, lengths, self.own):
                    if at or len(inner) < len(longer):
                        for memory_id in self.own[inner] - {other.memory_id}:
                            self._memories.setdefault(longer, {}).setdefault(memory_id, False)
        self._lengths = _lengths(self._memories)

    def among(self, words: Sequence[str]) -> Iterator[NameAt]:
        """The names among words, in order."""
        if self._lengths.keys().isdisjoint(words):
            return
        free: dict[int, int] = {}
        for at, name in _names_in(words, self._lengths, self._memories):
            for memory_id, own in self._memories[name].items():
                if at >= free.get(memory_id, 0):
                    free[memory_id] = at + len(name)
                    if own:
                        yield NameAt(memory_id, name, at)


def _lengths(names: Iterable[Words]) -> dict[str, list[int]]:
    """The numbers of words of the names with each first word, the largest first."""
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for words in names:
        lengths[words[0]].add(len(words))
    return {word: sorted(listed, reverse=True) for word, listed in lengths.items()}


def _names_in(
    words: Sequence[str], lengths: Mapping[str, Sequence[int]], names: Container[Words]
) -> Iterator[tuple[int, Words]]:
    """The names among words, each with its position; of those at one position longer ones first."""
    for at, word in enumerate(words):
        if word in lengths:
            for length in lengths[word]:
                name = tuple(words[at : at + length])
                if name in names:
                    yield at, name
