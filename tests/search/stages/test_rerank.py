"""A cross-encoder over the first hits: it improves an order, keeps the clock, and never breaks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.search.stages.rerank import RERANKED, SHARE
from tests.embedding.cross_encoders import make

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tiny models are of no use to others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJINN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of cross-encoders: `good` knows when a text holds the question, `random` nothing."""
    folder = tmp_path_factory.mktemp("models")
    make(folder / "good", steps=350)
    make(folder / "random")
    return folder


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Home:
    """Notes on the tide that hardly say so, and a lot that say other things."""
    home, _ = init(tmp_path_factory.mktemp("rerank") / "home")
    home.edit((("embedding", "provider"), "hashing"), (("search", "rerank"), str(models / "good")))
    home.trust(home.untrusted)
    shared = home.root / "vaults" / "shared"
    (shared / "tide.md").write_text("boat gull crew tide\n")
    for number in range(40):
        words = ("boat sail rope", "gull crew fee", "sea bread boat")[number % 3]
        (shared / f"n{number:02}.md").write_text(f"{words} {'boat ' * (number % 4)}\n")
    Djinn(home).index()
    return home


def test_it_improves_an_order_and_says_so(vault: Home) -> None:
    djinn = Djinn(vault)
    # Every note is as good by its legs; the cross-encoder is asked whether it holds a tide.
    before = djinn.search("words: boat meaning: tide", rerank=False, limit=RERANKED)
    after = djinn.search("words: boat meaning: tide", rerank=True, limit=RERANKED)
    assert not after.problems
    [step] = after.steps
    assert step.name == "rerank"
    assert f"best {RERANKED}" in step.what
    assert step.milliseconds < 2000
    assert before.steps == ()
    assert [hit.before for hit in before.hits] == [None] * RERANKED
    paths = [hit.path for hit in before.hits]
    for hit in after.hits:
        assert paths[hit.before - 1] == hit.path  # type: ignore[operator]
        assert 0 <= hit.score <= 1
        parts = sum(leg.part for leg in hit.legs.values()) + hit.feedback
        assert hit.score == pytest.approx(parts, abs=1e-4)
    scores = [hit.score for hit in after.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_text_that_answers_rises_to_the_top(vault: Home) -> None:
    djinn = Djinn(vault)
    before = djinn.search("tide words: boat boat boat", rerank=False, mode="meaning", limit=30)
    place = [hit.path for hit in before.hits].index("tide.md")
    hits = djinn.search("tide words: boat boat boat", rerank=True, mode="meaning", limit=5).hits
    assert hits[0].path == "tide.md"
    assert hits[0].before == place + 1
    assert hits[0].legs["rerank"].raw > 0.5
    assert len(hits) == 5


@pytest.mark.parametrize("mode", ["words", "meaning", "hybrid"])
def test_what_is_not_read_stays_below(vault: Home, mode: str) -> None:
    result = Djinn(vault).search("boat", mode=mode, limit=40)  # type: ignore[arg-type]
    assert not result.problems
    read = [hit for hit in result.hits if "rerank" in hit.legs]
    assert read == list(result.hits[:RERANKED])
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(hit.score <= 1 - SHARE + SHARE * 1 for hit in result.hits)


def test_the_clock_is_kept_and_the_order_is_that_without(vault: Home) -> None:
    plain = Djinn(vault).search("boat", rerank=False)
    vault.edit((("search", "rerank_ms"), 1))
    vault.trust(vault.untrusted)
    try:
        began = time.monotonic()
        result = Djinn(vault).search("boat")
        assert time.monotonic() - began < 5
    finally:
        vault.edit((("search", "rerank_ms"), None))
    assert result.hits == plain.hits
    [problem] = result.problems
    assert "in 1 ms" in problem.why
    assert [step.name for step in result.steps] == ["rerank"]


def test_no_model_that_is_ready_is_a_problem_and_index_prepares_it(
    home: Home, shared: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))
    (shared / "a.md").write_text("boat\n")
    Djinn(home).index()
    plain = Djinn(home).search("boat")
    home.edit((("search", "rerank"), str(models / "random")))
    home.trust(home.untrusted)
    waiting = Djinn(home).search("boat")
    assert waiting.hits == plain.hits
    assert "call `index()`" in waiting.problems[0].why
    assert not Djinn(home).index().problems
    assert not Djinn(home).search("boat").problems
    home.edit((("search", "rerank"), "no-such/model"))
    home.trust(home.untrusted)
    assert "no-such/model" in Djinn(home).index().problems[0].why
    assert Djinn(home).search("boat").hits == plain.hits


def test_damaged_weights_are_a_problem(
    home: Home, shared: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))
    (shared / "a.md").write_text("boat\n")
    home.edit((("search", "rerank"), str(models / "random")))
    home.trust(home.untrusted)
    Djinn(home).index()
    for name, data in (("tokenizer.json", b"{"), ("model.onnx", b"half")):
        [file] = (tmp_path / "cache").glob(f"rerankers/*/{name}")
        file.write_bytes(data)
        result = Djinn(home).search("boat")
        assert [hit.path for hit in result.hits] == ["a.md"]
        [problem] = result.problems
        assert problem.what == "rerank"
        assert "is damaged" in problem.why and "delete that folder" in problem.why


def test_the_option_wants_a_model_and_filters_need_none(home: Home, vault: Home) -> None:
    with pytest.raises(UsageError, match=r"search\.rerank"):
        Djinn(home).search("boat", rerank=True)
    assert Djinn(vault).search("path:tide").steps == ()
