"""What questions say about their language is taken from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.embedding.language_bias import COMMON, LanguageBias, measure_bias

WIDTH = 48


def model_with_bias(seed: int) -> tuple[LanguageBias, np.ndarray, np.ndarray]:
    """A model whose questions are a meaning, and in each language one direction more."""
    draw = np.random.default_rng(seed)
    offsets = draw.normal(size=(14, WIDTH))
    number = iter(range(140))
    bias = measure_bias(lambda _: offsets[next(number) // 10])
    return bias, offsets, draw.normal(size=(5, WIDTH))


@given(st.integers(0, 1000))
def test_a_question_is_the_same_in_all_languages(seed: int) -> None:
    bias, offsets, meanings = model_with_bias(seed)
    for meaning in meanings:
        rests = bias.taken_from(meaning + offsets)
        assert np.allclose(rests, rests[0], atol=1e-6)
        assert np.allclose(np.linalg.norm(rests, axis=1), 1)
        assert np.allclose(rests @ bias.languages.T, 0, atol=1e-6)


def test_half_of_what_all_questions_share_is_taken() -> None:
    bias, offsets, [meaning, *_] = model_with_bias(1)
    assert bias.mean == pytest.approx(offsets.mean(axis=0))
    assert bias.languages.shape == (13, WIDTH)
    away = meaning + (1 - COMMON) * bias.mean
    away -= away @ bias.languages.T @ bias.languages
    [rest] = bias.taken_from((meaning + offsets[3])[None])
    assert rest == pytest.approx(away / np.linalg.norm(away))
