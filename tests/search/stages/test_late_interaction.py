"""Late interaction: what it adds where memories are short, and that it leaves the rest alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.embedder import TokenVectors
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.search.stages.late_interaction import READ, WEIGHT, maxsim, rarity

QUESTION = "When did Ada say that the old barometer fell off the wall?"
SHORT = "of the wall"


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A conversation, a note for each turn; one of them answers."""
    home, _ = init(tmp_path_factory.mktemp("talk") / "home")
    shared = home.root / "vaults" / "shared"
    for number in range(60):
        who, what = (("Ada", "boat"), ("Bo", "wall"), ("Cy", "garden"))[number % 3]
        (shared / f"t{number:02}.md").write_text(f"{who}: I went to see the {what} {number} times.")
    (shared / "answer.md").write_text("Ada: On Monday the barometer came down with a crash.")
    Djinn(home).index()
    return home


def unit(rows: list[list[float]]) -> np.ndarray:
    array = np.array(rows, dtype=np.float32).reshape(len(rows), 3)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


ROWS = st.lists(st.lists(st.integers(1, 9).map(float), min_size=3, max_size=3), max_size=6)


@given(ROWS, ROWS, st.lists(st.floats(0, 9), min_size=6, max_size=6))
def test_maxsim_is_a_mean_of_best_cosines(
    question: list[list[float]], text: list[list[float]], weights: list[float]
) -> None:
    asked, said = unit(question), unit(text)
    spans = [(at, at + 1) for at in range(9)]
    weights = weights[: len(asked)]
    value = maxsim(TokenVectors(spans, asked), weights, TokenVectors(spans, said))
    if not (len(said) and any(weights)):
        assert value == 0
        return
    best = [max(float(row @ other) for other in said) for row in asked]
    mean = sum(w * b for w, b in zip(weights, best, strict=True)) / sum(weights)
    assert value == pytest.approx(mean, abs=1e-4)
    # What says more never says it worse.
    assert maxsim(TokenVectors(spans, asked), weights, TokenVectors(spans, asked)) > 0.999


def test_a_token_is_as_rare_as_its_word(talk: Home) -> None:
    djinn = Djinn(talk)
    with djinn.runtime.index(talk.vaults) as index:
        text = "Ada: baro meter?"
        worth = rarity(index.words, text, [(0, 3), (3, 4), (5, 9), (10, 12), (12, 15), (15, 16)])
    assert worth[1] == worth[5] == 0
    assert worth[3] == worth[4]
    assert 0 < worth[0] < worth[2] == worth[3]


def test_a_short_memory_that_answers_rises(talk: Home) -> None:
    hits = Djinn(talk).search(QUESTION, limit=READ + 9).hits
    assert hits[0].path == "answer.md"
    assert hits[0].legs["tokens"].rank == 1
    assert sum("tokens" in hit.legs for hit in hits) == READ
    for hit in hits:
        parts = sum(leg.part for leg in hit.legs.values()) + hit.feedback
        assert hit.score == pytest.approx(max(0.0, parts), abs=1e-3)
        if "tokens" in hit.legs:
            assert abs(hit.legs["tokens"].part) < WEIGHT
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score < 1 for score in scores)


@pytest.mark.parametrize(
    ("query", "mode"), [(SHORT, "hybrid"), (QUESTION, "words"), (QUESTION * 3, "hybrid")]
)
def test_what_does_not_gain_is_left_alone(talk: Home, query: str, mode: str) -> None:
    hits = Djinn(talk).search(query, mode=mode).hits  # type: ignore[arg-type]
    assert hits
    assert not any("tokens" in hit.legs for hit in hits)


def test_long_memories_are_left_alone(home: Home, shared: Path) -> None:
    home.edit((("embedding", "provider"), None))
    for number in range(READ):
        (shared / f"{number}.md").write_text(
            f"Ada {number}: " + "the barometer and the wall. " * 30
        )
    djinn = Djinn(home)
    djinn.index()
    assert not any("tokens" in hit.legs for hit in djinn.search(QUESTION).hits)


def test_a_model_without_tokens_is_left_alone(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("Ada: On Monday the barometer came down.")
    djinn.index()
    [hit] = djinn.search(QUESTION).hits
    assert "tokens" not in hit.legs
