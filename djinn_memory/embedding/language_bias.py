"""Takes from the vectors of questions what they say about language instead of meaning.

A multilingual model places texts of one language near each other, so a German question finds the
one German note before the English answer; and it places some texts near every question. Both are
linear, so taking them from the question alone corrects every cosine, and no vector that is stored
changes. Sources: Yang et al. 2021, "A Simple and Effective Method To Eliminate the Self Language
Bias in Multilingual Representations"; Mu and Viswanath 2018, "All-but-the-Top".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec import Struct

from djinn_memory.models import Vectors

FILE = "language_bias.npy"

COMMON = 0.5
"""The share of the mean question that is taken from each question.

`benchmarks/foreign_questions.tsv`, by the best window alone: hit@1 .350 as the model says it, .375
without languages, .375 without this share of the mean, .450 without both; mean reciprocal rank
.477, .512, .556 and .587. Shares from .25 to 1 give .554 to .587.
"""


class LanguageBias(Struct, frozen=True):
    """The directions of languages, and the mean question."""

    languages: Vectors
    """Orthonormal rows of shape (languages - 1, dimensions)."""
    mean: Vectors
    """Shape (dimensions,)."""

    def taken_from(self, vectors: Vectors) -> Vectors:
        """The vectors of questions without the bias, each row of length 1 again."""
        moved = vectors - np.float32(COMMON) * self.mean
        rest = moved - (moved @ self.languages.T) @ self.languages
        unit: Vectors = rest / np.linalg.norm(rest, axis=1, keepdims=True)
        return unit


def measure_bias(embed_question: Callable[[str], Vectors]) -> LanguageBias:
    """The bias of a model, from ten sentences in each of 14 languages.

    `embed_question` returns the vector of a question, of shape (dimensions,).
    """
    path = Path(__file__).with_name("parallel_sentences.tsv")
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    means = np.stack([np.mean([embed_question(text) for text in line], axis=0) for line in lines])
    mean = means.mean(axis=0)
    *_, directions = np.linalg.svd(means - mean, full_matrices=False)
    # The differences from the mean add up to nothing, so there is one direction less.
    return LanguageBias(directions[:-1], mean)


def write_bias(folder: Path, bias: LanguageBias) -> None:
    """Write the bias of the model in `folder`."""
    np.save(folder / FILE, np.vstack([bias.mean, bias.languages]))


def read_bias(folder: Path) -> LanguageBias:
    """The bias of the model in `folder`. A damaged file raises OSError, ValueError or EOFError."""
    mean, *languages = np.load(folder / FILE)
    return LanguageBias(np.array(languages), mean)
