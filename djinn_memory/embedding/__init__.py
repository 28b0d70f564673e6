"""Providers of vectors."""

from __future__ import annotations

from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.models import Embedder, ProgressCallback, silent


def embedder(config: EmbeddingConfig, progress: ProgressCallback = silent) -> Embedder | None:
    """The configured provider; None for `none`, which searches by words only.

    Cheap to call: a provider loads its model when it is first asked for something.
    """
    if config.provider == "none":
        return None
    if config.provider == "hashing":
        from djinn_memory.embedding.hashing import HashingEmbedder

        return HashingEmbedder()
    if config.provider in ("ollama", "openai"):
        from djinn_memory.embedding.remote import RemoteEmbedder

        return RemoteEmbedder(config, progress)
    from djinn_memory.embedding.local import LocalEmbedder

    return LocalEmbedder(config, progress)
