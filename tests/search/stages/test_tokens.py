"""Late interaction: what it adds, and where it leaves hits alone."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.search.stages.tokens import (
    LEAST,
    MOST,
    READ,
    SHORT,
    maxsim,
    rarity,
    weight,
)
from djinn_memory.store.index import vectors

QUESTION = "When did Ada say that the old barometer fell off the wall?"
TITLE = "of the wall"


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


ROWS = st.lists(
    st.lists(st.floats(-1, 1).filter(bool), min_size=16, max_size=16), min_size=1, max_size=6
)


def unit(rows: list[list[float]]) -> np.ndarray:
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def packed(rows: list[list[float]]) -> bytes:
    return np.packbits(np.array(rows) > 0, axis=1).tobytes()


@given(ROWS, st.lists(ROWS, min_size=1, max_size=4), st.lists(st.floats(0, 9), min_size=6))
def test_maxsim_is_a_mean_of_best_cosines(
    question: list[list[float]], texts: list[list[list[float]]], weights: list[float]
) -> None:
    asked, weights = unit(question), weights[: len(question)]
    values = maxsim(asked, weights, [*map(packed, texts), b""])
    assert values.pop() == 0
    for value, text in zip(values, texts, strict=True):
        if not any(weights):
            assert value == 0
            continue
        signs = np.where(np.array(text) > 0, 1, -1) / 4
        best = [max(float(row @ other) for other in signs) for row in asked]
        mean = sum(w * b for w, b in zip(weights, best, strict=True)) / sum(weights)
        assert value == pytest.approx(mean * (np.pi / 2) ** 0.5, abs=1e-3)


def test_signs_say_about_what_vectors_say() -> None:
    draws = np.random.default_rng(3)
    base = draws.normal(size=384)
    for share in (0.0, 0.3, 0.6, 0.9):
        rows = share * base + (1 - share) * draws.normal(size=(200, 384))
        exact = unit(rows.tolist()) @ unit([base.tolist()])[0]
        signs = [packed([row]) for row in rows.tolist()]
        near = maxsim(unit([base.tolist()]), [1.0], signs)
        assert np.mean(near) == pytest.approx(float(np.mean(exact)), abs=0.03)


@given(st.lists(st.integers(0, 3000), max_size=40))
def test_short_windows_gain_most(lengths: list[int]) -> None:
    assert LEAST <= weight(lengths) <= MOST
    assert weight([*lengths, 5000]) <= weight(lengths)
    assert weight([SHORT] * 3) == MOST
    assert weight([10 * SHORT]) == LEAST


def test_a_token_is_as_rare_as_its_word(talk: Home) -> None:
    djinn = Djinn(talk)
    with djinn.runtime.index(talk.vaults) as index:
        text = "Ada: baro meter?"
        worth = rarity(index.words, text, [(0, 3), (3, 4), (5, 9), (10, 12), (12, 15), (15, 16)])
    assert worth[1] == worth[5] == 0
    assert worth[3] == worth[4]
    assert 0 < worth[0] < worth[2] == worth[3]


def test_a_short_memory_that_answers_rises(talk: Home) -> None:
    hits = Djinn(talk).search(QUESTION, limit=2 * READ).hits
    assert hits[0].path == "answer.md"
    assert hits[0].legs["tokens"].rank == 1
    assert sum("tokens" in hit.legs for hit in hits) == READ
    for hit in hits:
        parts = sum(leg.part for leg in hit.legs.values()) + hit.feedback
        assert hit.score == pytest.approx(max(0.0, parts), abs=1e-3)
        if "tokens" in hit.legs:
            assert abs(hit.legs["tokens"].part) < MOST
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score < 1 for score in scores)


@pytest.mark.parametrize(
    ("query", "mode"), [(TITLE, "hybrid"), (QUESTION, "words"), (QUESTION * 3, "hybrid")]
)
def test_what_does_not_gain_is_left_alone(talk: Home, query: str, mode: str) -> None:
    hits = Djinn(talk).search(query, mode=mode).hits  # type: ignore[arg-type]
    assert hits
    assert not any("tokens" in hit.legs for hit in hits)


@pytest.fixture
def long(home: Home, shared: Path) -> Home:
    """Memories too long to be embedded at every question."""
    home.edit((("embedding", "provider"), None))
    for number in range(READ):
        (shared / f"{number}.md").write_text(
            f"Ada {number}: " + "the barometer and the wall. " * 30
        )
    Djinn(home).index()
    return home


def test_tokens_of_long_memories_are_those_of_indexing(long: Home) -> None:
    with Djinn(long) as djinn:
        hits = djinn.search(QUESTION, limit=READ).hits
        assert all(hit.legs["tokens"].part < LEAST for hit in hits)
        embedder = djinn.runtime.models.embedder
        assert embedder
        with djinn.runtime.index(long.vaults) as index:
            [memory] = index.resolve("7")
            [chunk, *_] = index.chunks_of([memory.memory_id])[memory.memory_id]
            [key] = index.vectors.token_signs({chunk.chunk_id: 0}).items()
            texts = list(vectors.texts(djinn.runtime.state.index, [*range(999)]).values())
        [text] = [text for text in texts if "Ada 7:" in text]
        assert key == (chunk.chunk_id, embedder.embed_documents([text])[1][0])


def test_an_index_made_before_tokens_were_kept(long: Home) -> None:
    with apsw.Connection(str(long.embeddings_path)) as connection:
        connection.execute("drop table token_signs; alter table identity drop column tokens")
        connection.pragma("user_version", 3)
    connection.close()
    with Djinn(long) as djinn:
        assert not any("tokens" in hit.legs for hit in djinn.search(QUESTION).hits)
        texts = djinn.status().stats.windows
        assert djinn.index().embedded == texts
        assert all("tokens" in hit.legs for hit in djinn.search(QUESTION).hits)
        assert djinn.index().embedded == 0


@pytest.mark.soak
def test_a_cache_that_holds_nonsense_is_as_good_as_none(long: Home) -> None:
    with apsw.Connection(str(long.embeddings_path)) as connection:
        connection.execute("update token_signs set signs = 'junk'")
    connection.close()
    result = Djinn(long).search(QUESTION)
    assert result.hits
    assert not any("tokens" in hit.legs for hit in result.hits)


def test_a_model_without_tokens_is_left_alone(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("Ada: On Monday the barometer came down.")
    djinn.index()
    [hit] = djinn.search(QUESTION).hits
    assert "tokens" not in hit.legs
