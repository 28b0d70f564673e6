"""A cross-encoder from a folder: prepared once, as its original says, offline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from djinn_memory.embedding import cross_encoder
from djinn_memory.embedding.cross_encoder import CrossEncoder
from djinn_memory.errors import Unavailable
from tests.embedding.cross_encoders import make

LATER = """
import sys
from pathlib import Path
from djinn_memory.embedding.cross_encoder import CrossEncoder
encoder = CrossEncoder(sys.argv[1], Path("/"))
assert encoder.ready
print(*encoder.scores("tide", ["the tide is high", "a boat"]))
heavy = {"torch", "transformers", "sentence_transformers", "huggingface_hub"} & set(sys.modules)
assert not heavy, heavy
"""

TEXTS = ["tide boat", "harbour is a sea", "", "gull " * 200, "日本", "bread tide rope"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def original(folder: Path, question: str, texts: list[str]) -> list[float]:
    import torch
    from sentence_transformers import CrossEncoder as Original

    model = Original(str(folder), device="cpu", local_files_only=True)
    scores = model.predict([(question, text) for text in texts], activation_fn=torch.nn.Identity())
    return [float(value) for value in scores]


@pytest.mark.soak
def test_scores_are_the_originals(folder: Path, cache: Path) -> None:
    encoder = CrossEncoder(str(folder), Path("/"))
    assert not encoder.ready
    encoder.prepare()
    assert encoder.ready
    assert encoder.card.precision in ("int8", "fp32")
    expected = original(folder, "tide", TEXTS)
    # int8 keeps the order, not the value.
    spread = max(expected) - min(expected)
    assert encoder.scores("tide", TEXTS) == pytest.approx(expected, abs=0.1 * spread)
    assert encoder.scores("tide", []) == []
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(folder)],
        capture_output=True, text=True, env={"DJINN_CACHE": str(cache), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2


@pytest.mark.soak
def test_where_int8_strays_fp32_takes_over_and_torch_where_both_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = original(folder, "tide", TEXTS)
    for least, precisions in ((0.9999, {"fp32"}), (1.1, {"torch"})):
        monkeypatch.setattr(cross_encoder, "MIN_ORDER", least)
        monkeypatch.setenv("DJINN_CACHE", str(tmp_path / str(least)))
        encoder = CrossEncoder(str(folder), Path("/"))
        encoder.prepare()
        assert encoder.card.precision in precisions
        assert encoder.scores("tide", TEXTS) == pytest.approx(expected, abs=1e-4)


@pytest.mark.soak
def test_other_weights_in_the_same_folder_are_prepared_anew(tmp_path: Path) -> None:
    folder = make(tmp_path / "model", seed=1)
    CrossEncoder("./model", tmp_path).prepare()
    first = CrossEncoder("./model", tmp_path).scores("sea", TEXTS)
    make(folder, seed=2)
    changed = CrossEncoder("./model", tmp_path)
    assert not changed.ready
    with pytest.raises(Unavailable, match=r"index\(\)"):
        changed.scores("sea", TEXTS)
    changed.prepare()
    assert changed.scores("sea", TEXTS) != pytest.approx(first)


@pytest.mark.soak
def test_two_outputs_are_read_as_odds_and_three_are_refused(tmp_path: Path) -> None:
    two = CrossEncoder(str(make(tmp_path / "two", labels=2)), Path("/"))
    two.prepare()
    assert len(set(two.scores("tide", TEXTS))) > 1
    three = CrossEncoder(str(make(tmp_path / "three", labels=3)), Path("/"))
    with pytest.raises(Unavailable, match="3 outputs"):
        three.prepare()
    assert not three.ready


@pytest.mark.soak
def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        Unavailable, match="some-body/some-model is not a folder and cannot be downloaded"
    ):
        CrossEncoder("some-body/some-model", tmp_path).prepare()
    with pytest.raises(Unavailable, match="is not a folder"):
        CrossEncoder("no name at all: \0?", tmp_path).prepare()
    (tmp_path / "empty").mkdir()
    with pytest.raises(Unavailable, match="not a cross-encoder"):
        CrossEncoder("./empty", tmp_path).prepare()
