"""A provider: a class with an identity, dimensions and `embed`, registered in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from djinn_memory.embedding.calibration import calibrate
from djinn_memory.embedding.embedder import Embedder, create_embedder
from djinn_memory.embedding.registry import parse_model
from djinn_memory.home.settings import PROVIDERS, EmbeddingConfig, ProviderEntry

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


class LetterEmbedder(Embedder):
    """Counts letters: all that a provider has to write."""

    identity = "letters-1"
    dimensions = 26

    def __init__(self, config: EmbeddingConfig, progress: object) -> None:
        self.config = config

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        counts = [[text.lower().count(chr(97 + at)) + 0.1 for at in range(26)] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), 26)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def test_a_provider_is_registered_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS, "letters", ProviderEntry(f"{__name__}:LetterEmbedder"))
    embedder = create_embedder(EmbeddingConfig(provider="letters"))
    assert embedder and (embedder.identity, embedder.ready, embedder.local) == (
        "letters-1", True, True,
    )  # fmt: skip
    near, far = embedder.embed(["kettle", "kettles", "zzz"])[1:] @ embedder.embed(["kettle"])[0]
    assert near > far
    assert calibrate(embedder).scale != 1.0
    assert parse_model("letters") == ("letters", None)


def test_a_provider_is_ready_and_local_unless_it_says_otherwise() -> None:
    embedder = create_embedder(EmbeddingConfig(provider="hashing"))
    assert embedder and embedder.ready and embedder.local
    assert create_embedder(EmbeddingConfig(provider="none")) is None
