"""Finds the line number of a position in a text."""

from __future__ import annotations


class Lines:
    """Counts lines from the last position asked for, so that nearby positions cost little.

    A list of all line ends would take more memory than the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def of(self, place: int) -> int:
        """The line of a position, from 1."""
        if place >= self._at:
            self._line += self._text.count("\n", self._at, place)
        else:
            self._line -= self._text.count("\n", place, self._at)
        self._at = place
        return self._line
