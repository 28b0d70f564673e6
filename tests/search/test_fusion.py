"""How legs become one score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.search import fusion

UNIT = st.floats(0, 1)
COSINE = st.floats(-1, 1)
SCORES = st.dictionaries(st.integers(0, 50), st.floats(-1, 1), min_size=1)


@given(UNIT, COSINE, UNIT, COSINE)
def test_more_of_either_leg_is_never_less(w: float, c: float, w2: float, c2: float) -> None:
    shares = fusion.shares({"words": 0.5, "meaning": 0.5})
    words = {1: min(w, w2), 2: max(w, w2)}
    scores = fusion.fuse(
        [1, 2], {"words": words, "meaning": {1: min(c, c2), 2: max(c, c2)}}, shares
    )
    assert -1 <= scores[1] <= scores[2] <= 1


def test_a_chunk_that_a_leg_does_not_know_is_scored_by_the_others() -> None:
    shares = {"words": 0.5, "meaning": 0.5}
    assert fusion.fuse([1, 2], {"words": {1: 1.0}, "meaning": {}}, shares) == {1: 0.5, 2: 0.0}


@given(SCORES, st.data())
def test_the_best_memories_are_few_different_and_best(
    scores: dict[int, float], data: st.DataObject
) -> None:
    memory_of = {chunk: data.draw(st.integers(0, 5)) for chunk in scores}
    best = fusion.best_memories(scores, memory_of)
    assert len(best) == min(fusion.FEEDBACK_MEMORIES, len(set(memory_of.values())))
    assert len({memory_of[chunk] for chunk in best}) == len(best)
    assert max(scores.values()) == scores[best[0]]
    for chunk in best:
        assert all(
            scores[chunk] >= scores[other]
            for other in scores
            if memory_of[other] == memory_of[chunk]
        )


@given(SCORES, st.data())
def test_feedback_moves_a_score_by_little_and_not_without_a_vector(
    scores: dict[int, float], data: st.DataObject
) -> None:
    likeness = data.draw(st.dictionaries(st.sampled_from(sorted(scores)), st.floats(-1, 1)))
    best = fusion.best_memories(scores, {chunk: chunk for chunk in scores})
    final = fusion.with_feedback(scores, likeness, best)
    assert final.keys() == scores.keys()
    for chunk, score in scores.items():
        assert abs(final[chunk] - score) <= 2 * fusion.FEEDBACK + 1e-9
        if chunk not in likeness:
            assert final[chunk] == pytest.approx(score)


def test_feedback_is_neutral_for_what_is_as_alike_as_the_best() -> None:
    final = fusion.with_feedback({1: 0.5, 2: 0.4}, {1: 0.8, 2: 0.8}, [1])
    assert final == pytest.approx({1: 0.5, 2: 0.4})


@given(st.floats(allow_nan=False))
def test_a_shown_score_is_between_0_and_1(score: float) -> None:
    assert 0 <= fusion.shown(score) <= 1
