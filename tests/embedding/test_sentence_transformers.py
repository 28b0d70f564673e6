"""Any model of sentence-transformers, by its folder: made here, small and of random weights."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.embedder import create_embedder
from djinn_memory.embedding.export import sample_sentences
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.embedding.torch_model import encode, load_model
from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from tests.conftest import Run
from tests.embedding.tiny import tiny_model
from tests.indexing.vaults import fill


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("torch"), exports=False)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path_factory.getbasetemp() / "models-cache"))


def model(folder: Path, **settings: object) -> LocalEmbedder:
    embedder = create_embedder(
        EmbeddingConfig(provider="sentence-transformers", model=str(folder), **settings)  # type: ignore[arg-type]
    )
    assert isinstance(embedder, LocalEmbedder)
    return embedder


def test_a_model_runs_as_onnx_where_it_exports(folder: Path) -> None:
    embedder = model(folder)
    assert embedder.card.precision in ("int8", "fp32")
    assert (embedder.dimensions, embedder.card.max_tokens) == (32, 64)
    original, _ = load_model(folder)
    texts = [text for text in sample_sentences() if len(text.split()) < 40]
    cosines = np.sum(embedder.embed(texts) * encode(original, texts), axis=1)
    assert cosines.mean() > 0.985


def test_a_model_that_does_not_export_runs_by_torch(
    stubborn: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    embedder = model(stubborn)
    assert embedder.card.precision is None
    texts = ["a harbour at low water", "the tide " * 100, ""]
    vectors = embedder.embed(texts)
    assert vectors.shape == (3, 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    # A second process finds it prepared.
    again = model(stubborn)
    assert again.ready
    assert np.allclose(again.embed(texts), vectors, atol=1e-5)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("kind", ["folder", "stubborn"])
def test_no_text_is_too_long_to_count(kind: str, request: pytest.FixtureRequest) -> None:
    embedder = model(request.getfixturevalue(kind))
    start = "one two three four five six seven eight nine ten " * 8
    [with_end, without] = embedder.embed([start + "harbour tide mooring " * 20, start])
    assert with_end @ without < 0.9999


def test_prompts_come_from_the_settings_else_from_the_model(tmp_path: Path, folder: Path) -> None:
    own = tiny_model(tmp_path, prompts={"query": "ask: ", "document": "text: "})
    prompted, bare = model(own), model(own, query_prompt="", document_prompt="")
    assert (prompted.prompts.query, prompted.prompts.document) == ("ask: ", "text: ")
    assert prompted.identity != bare.identity
    assert np.allclose(
        prompted.embed(["a buoy"], query=True), bare.embed(["ask: a buoy"]), atol=1e-5
    )
    assert np.allclose(prompted.embed(["a buoy"]), bare.embed(["text: a buoy"]), atol=1e-5)
    assert model(folder).identity == model(folder).identity


def test_other_weights_are_another_identity(tmp_path: Path, folder: Path) -> None:
    assert model(tiny_model(tmp_path, seed=1)).identity != model(folder).identity


def test_what_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}")
    with pytest.raises(Unavailable, match="cannot be loaded") as caught:
        model(tmp_path / "empty").embed(["x"])
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"embedding\.model is missing"):
        create_embedder(EmbeddingConfig(provider="sentence-transformers"))
    assert logging.root.manager.disable == logging.NOTSET


def test_a_device_that_is_not_there_is_one_line(folder: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has the device that is to be missing")
    with pytest.raises(Unavailable, match=r"torch finds no cuda device; set embedding\.device"):
        model(folder, device="cuda").embed(["x"])


def test_as_a_user_runs_it(home: Home, shared: Path, folder: Path, run: Run) -> None:
    fill(shared, 3)
    done = run("index", "--model", folder, "--json", home=home.root)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["embedded"] > 0
    status = json.loads(run("status", "--json", home=home.root).stdout)
    assert status["identity"] == model(folder).identity
    answer = run("memory", "search", "kettle", "--json", home=home.root)
    assert json.loads(answer.stdout)["mode"] == "hybrid"
    assert answer.stderr == ""
    djinn = Djinn(Home(home.root))
    assert djinn.home.config.embedding.model == str(folder)
