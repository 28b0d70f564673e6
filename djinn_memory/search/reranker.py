"""What reads the best candidates again, and what it says of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Verdict(NamedTuple):
    """What a model says of one text; both numbers are from 0 to 1."""

    likelihood: float
    """How likely the text answers, in the model's own terms."""
    score: float
    """The same on the scale of a hit's score."""


class Reranker(Protocol):
    """A model that reads texts together with a question."""

    @property
    def name(self) -> str:
        """The model as a person calls it."""

    def judge(self, question: str, texts: Sequence[str]) -> list[Verdict]:
        """A verdict on each text, within the time that the settings allow.

        Raises `DjinnError` unless there is one on each.
        """
