"""Vectors without a model: words hashed into dimensions.

For tests, because they are equal on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from djinn_memory.embedding.embedder import Embedder

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


class HashingEmbedder(Embedder):
    """Texts with common words are near each other. Meaning has no effect."""

    dimensions = 128
    identity = "hashing-128-1"

    def __init__(self, *_: object) -> None:
        """Ignore the settings, because nothing is configurable."""

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """Signed counts of the texts' words. A text without words gets a fixed unit vector."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()) or [""]:
                digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
                row[digest[0] % self.dimensions] += 1.0 if digest[1] & 1 else -1.0
            if not row.any():
                row[0] = 1.0
            row /= np.linalg.norm(row)
        return vectors
