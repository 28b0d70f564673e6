"""The protocol of rerankers, which read the best candidates again and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Verdict(NamedTuple):
    """A model's judgement of one text. Both numbers are from 0 to 1."""

    likelihood: float
    """The likelihood that the text answers, on the model's own scale."""
    score: float
    """The likelihood on the scale of a hit's score."""


class Reranker(Protocol):
    """A model that reads texts together with a question."""

    @property
    def name(self) -> str:
        """The model's name for users."""

    def judge(self, question: str, texts: Sequence[str]) -> list[Verdict]:
        """Return a verdict for each text, within the configured time.

        Raises `DjinnError` unless every text has a verdict.
        """
