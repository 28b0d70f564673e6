"""Other models' cosines on MiniLM's scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from djinn_memory.embedding.calibration import RELATED, STEEPEST, UNRELATED, anchor_pairs, calibrate
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.home.settings import EmbeddingConfig


class Narrow:
    """MiniLM with its vectors drawn together, as E5's are: cosines lie between `floor` and 1."""

    identity, ready, local = "narrow", True, True

    def __init__(self, floor: float) -> None:
        self._inner = LocalEmbedder(EmbeddingConfig())
        self._floor = floor
        self.dimensions = self._inner.dimensions + 1

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> NDArray[np.float32]:
        inner = self._inner.embed(texts, query=query) * np.sqrt(1 - self._floor)
        common = np.full((len(texts), 1), np.sqrt(self._floor), dtype=np.float32)
        return np.hstack([inner, common]).astype(np.float32)


class Blind:
    """Says nothing of a text: the same vector for all."""

    identity, ready, local, dimensions = "blind", True, True, 8

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> NDArray[np.float32]:
        return np.full((len(texts), 8), 8**-0.5, dtype=np.float32)


def test_the_reference_is_what_it_measures() -> None:
    measured = calibrate(Narrow(0.0))
    assert measured.scale == pytest.approx(1, abs=0.02)
    assert measured.shift == pytest.approx(0, abs=0.01)
    known = calibrate(LocalEmbedder(EmbeddingConfig()))
    assert (known.scale, known.shift) == (1.0, 0.0)


@pytest.mark.parametrize("floor", [0.3, 0.7, 0.9])
def test_a_narrow_model_reads_as_the_reference_does(floor: float) -> None:
    line = calibrate(Narrow(floor))
    for cosine in (UNRELATED, RELATED, 0.7):
        raw = floor + (1 - floor) * cosine
        assert line.scale * raw + line.shift == pytest.approx(cosine, abs=0.02)


def test_a_model_that_tells_nothing_apart_counts_for_nothing() -> None:
    line = calibrate(Blind())
    assert line.scale <= STEEPEST
    assert line.scale * 1.0 + line.shift <= 0.1


def test_the_pairs_are_whole_and_many() -> None:
    pairs = anchor_pairs()
    assert len({question for question, _ in pairs}) >= 40
    assert all(question and len(answer) > 30 for question, answer in pairs)
