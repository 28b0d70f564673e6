"""Maps the cosines of every model to one scale, measured on pairs of texts of known similarity.

A cosine of 0.3 is a good answer for MiniLM and far below noise for E5, whose cosines are all
between 0.7 and 1. All thresholds and weights of the search were tuned with MiniLM. The cosines of
other models are therefore mapped to its scale by a straight line through two points: the mean
cosine of unrelated texts, and the mean cosine of questions with their answers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from djinn_memory.embedding.embedder import Embedder
from djinn_memory.models import Calibration, Vectors


class HashingEmbedder(Embedder):
    """Texts with common words are near each other. Meaning has no effect."""

    dimensions = 128
    identity = "hashing-128-1"

    def __init__(self, *_: object) -> None:
        """Ignore the settings, because nothing is configurable."""

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """Signed counts of the texts' words. A text without words gets a fixed unit vector."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()) or [""]:
                digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
                row[digest[0] % self.dimensions] += 1.0 if digest[1] & 1 else -1.0
            if not row.any():
                row[0] = 1.0
            row /= np.linalg.norm(row)
        return vectors


REFERENCE = "minilm-f044f915023b4171"
"""The packaged MiniLM, which defines the scale."""

UNRELATED = 0.0313
RELATED = 0.3469
"""Mean cosine of MiniLM for the questions and answers of `anchor_pairs`."""

STEEPEST = 12.0
"""Maximum slope of the line: a steeper one would amplify the noise of a weak model."""


def calibrate(embedder: Embedder) -> Calibration:
    """The line that maps a model's cosines to MiniLM's scale. It embeds 80 short texts.

    A model that places answers no nearer than other texts gets the scale 0, so its cosines have no
    effect.
    """
    if embedder.identity in (REFERENCE, HashingEmbedder.identity):
        return Calibration()
    questions, answers = zip(*anchor_pairs(), strict=True)
    cosines = embedder.embed(questions, query=True) @ embedder.embed(answers).T
    count = len(questions)
    related = float(cosines.trace()) / count
    unrelated = (float(cosines.sum()) - float(cosines.trace())) / (count * (count - 1))
    if related <= unrelated:
        return Calibration(0.0, UNRELATED)
    scale = min(STEEPEST, (RELATED - UNRELATED) / (related - unrelated))
    return Calibration(scale, UNRELATED - scale * unrelated)


def relevance(cosine: float) -> float:
    """The relevance of a text with this calibrated cosine.

    0 stands for the mean of unrelated texts, and 1 for the mean of questions with their answers.
    """
    return (cosine - UNRELATED) / (RELATED - UNRELATED)


def anchor_pairs() -> list[tuple[str, str]]:
    """The built-in questions, each with the text that answers it."""
    text = Path(__file__).with_name("anchors.txt").read_text(encoding="utf-8")
    pairs = [line.partition("\t") for line in text.splitlines()]
    return [(question, answer) for question, _, answer in pairs]
