"""The provider for tests."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.embedding.calibration import HashingEmbedder


@given(st.lists(st.text(), max_size=5))
def test_any_texts_become_unit_vectors(texts: list[str]) -> None:
    vectors = HashingEmbedder().embed(texts)
    assert vectors.shape == (len(texts), 128)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_texts_that_share_words_are_near() -> None:
    first, second, other = HashingEmbedder().embed(
        ["the kettle sings", "a kettle sings", "blue boats"]
    )
    assert first @ second > first @ other
