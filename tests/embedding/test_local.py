"""Models on this machine: vectors as promised, and exports that cost nothing later."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from djinn_memory.embedding import export
from djinn_memory.embedding.export import sample_sentences
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.embedding.onnx_runtime import open_session
from djinn_memory.errors import Unavailable
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.models import silent
from tests.embedding.tiny import tiny_model
from tests.network_calls import addresses, traced

FIRST_USE = """
import sys
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.embedding.local import LocalEmbedder
notes = []
config = EmbeddingConfig("sentence-transformers", sys.argv[1])
embedder = LocalEmbedder(config, lambda progress: notes.append(progress.note))
row = embedder.embed(["a harbour at low water"])[0]
heavy = {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
print(embedder.identity, embedder.card.precision, len(notes), len(heavy), f"{float(row @ row):.3f}")
"""


def first_use(cache: Path, model: Path, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-c", FIRST_USE, model],
        env={"DJINN_CACHE": str(cache), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.soak
def test_two_first_uses_at_once_export_once_and_talk_to_nobody(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "made")
    log = tmp_path / "calls"
    both = [first_use(tmp_path, model, before=traced(log)) for _ in range(2)]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert addresses(log) == []
    models = list((tmp_path / "models").iterdir())
    assert len([path for path in models if path.is_dir()]) == 1
    later, errors = first_use(tmp_path, model).communicate(timeout=60)
    assert later.split()[1:] == ["int8", "0", "0", "1.000"], errors


def test_vectors_are_unit_rows_in_the_order_of_the_texts() -> None:
    embedder = LocalEmbedder(EmbeddingConfig())
    texts = ["tides and harbours", "a", "the water was low " * 60, "tides and harbours"]
    vectors = embedder.embed(texts)
    assert vectors.shape == (4, embedder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert vectors[0] @ vectors[3] > 0.999
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1]
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_the_vector_of_a_text_does_not_depend_on_those_beside_it() -> None:
    embedder = LocalEmbedder(EmbeddingConfig())
    texts = ["tides and harbours", "a", "the water was low " * 200, "layoffs, layoffs " * 90]
    together = embedder.embed(texts)
    assert all(
        (row == embedder.embed([text])[0]).all() for row, text in zip(together, texts, strict=True)
    )


def test_a_vector_is_the_same_on_every_processor() -> None:
    # Products of int8 overflow on an x86 without VNNI: this vector then had a cosine of .98.
    [vector] = LocalEmbedder(EmbeddingConfig()).embed(["Two lamps burn at the harbour."])
    recorded = [0.0358, 0.0223, 0.0722, -0.0123, 0.0594, -0.0134, 0.0078, -0.0709]
    assert vector[:8] == pytest.approx(recorded, abs=2e-4)


def test_meaning_is_found_without_shared_words() -> None:
    question, answer, other = LocalEmbedder(EmbeddingConfig()).embed(
        ["why is my boat stuck in the mud", "the hull lies aground at low water", "quarterly taxes"]
    )
    assert question @ answer > question @ other + 0.2


def test_built_in_sentences_are_a_few_hundred_and_of_all_lengths() -> None:
    texts = sample_sentences()
    assert len(set(texts)) >= 300
    assert min(map(len, texts)) < 15
    assert max(map(len, texts)) > 400


def test_no_room_for_the_model_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "models"
    blocked.write_text("a file where a folder should be")
    with pytest.raises(Unavailable, match="cannot be locked"):
        export.export_model(Path("unused"), blocked / "model", silent)


@pytest.mark.soak
def test_fp32_takes_over_where_int8_strays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(export, "MIN_COSINE", 0.99999)
    # Parts of a text that is too long are cut otherwise by the original.
    model = tiny_model(tmp_path / "made", reads=512)
    embedder = LocalEmbedder(EmbeddingConfig("sentence-transformers", str(model)))
    assert embedder.card.precision == "fp32"
    [row] = embedder.embed(["a harbour"])
    assert row @ row == pytest.approx(1, abs=1e-4)


def test_a_damaged_model_is_one_line_that_says_what_to_delete(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"half of a model")
    with pytest.raises(Unavailable, match="delete that folder"):
        open_session(tmp_path / "model.onnx", 1)


def test_the_tokens_of_a_question_come_from_the_run_that_embeds_it() -> None:
    question, other = "When does the tide come in the harbour?", "The lamp of the mill"
    together, alone = LocalEmbedder(EmbeddingConfig()), LocalEmbedder(EmbeddingConfig())
    vector = together.embed([question], query=True)
    assert np.array_equal(vector, alone.embed([question]))
    for text in (question, other):
        tokens, expected = together.question_tokens(text), alone.question_tokens(text)
        assert tokens and expected
        assert np.array_equal(tokens.vectors, expected.vectors)
        assert list(tokens.spans) == list(expected.spans)


def test_a_question_too_long_for_the_model_is_embedded_in_parts() -> None:
    embedder = LocalEmbedder(EmbeddingConfig())
    long = "The tide comes into the harbour, and the lamp of the mill burns. " * 60
    assert np.array_equal(embedder.embed([long], query=True), embedder.embed([long]))
    assert embedder.question_tokens(long) is not None
