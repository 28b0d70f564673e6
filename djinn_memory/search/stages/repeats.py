"""Repeats: leaves out texts that nearly equal one that is shown, such as a turn sent twice."""

from __future__ import annotations

import re

from djinn_memory.notes.slugs import fold

SAME_WORDS = 0.9
"""Minimum share of common words (Jaccard) of texts that nearly equal each other: nine of ten."""

_WORD = re.compile(r"\w+")

_Words = tuple[frozenset[str], frozenset[str]]


class ShownTexts:
    """The texts that are shown, by the kind of their memories."""

    def __init__(self) -> None:
        self._shown: dict[str, list[_Words]] = {}

    def repeats(self, kind: str, text: str) -> bool:
        """Whether a text nearly equals one that is shown.

        Case, punctuation and the order of words do not count. Texts with other numbers differ.
        """
        words, numbers = _words(text)
        return any(
            numbers == other_numbers and len(words & other) >= SAME_WORDS * len(words | other)
            for other, other_numbers in self._shown.get(kind, ())
        )

    def add(self, kind: str, text: str) -> None:
        """Note that a text is shown."""
        self._shown.setdefault(kind, []).append(_words(text))


def _words(text: str) -> _Words:
    """The words of a text, and those of them that are numbers."""
    words = frozenset(_WORD.findall(fold(text)))
    numbers = (word for word in words if any(map(str.isdigit, word)))
    return words, frozenset(numbers)
