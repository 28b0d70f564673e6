"""How a model is named: in a word that a user types, and beside the vectors that it made."""

from __future__ import annotations

from typing import cast, get_args

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, UsageError
from djinn_memory.home.settings import FOREIGN, RECIPE, EmbeddingConfig, Provider


def recipe(embedding: EmbeddingConfig) -> str:
    """The settings that make this embedder again, as JSON."""
    kept = {key: getattr(embedding, key) for key in RECIPE}
    kept["provider"] = "local" if embedding.provider == "auto" else embedding.provider
    return msgspec.json.encode({k: v for k, v in kept.items() if v is not None}).decode()


def cooked(embedding: EmbeddingConfig, made_by: str) -> EmbeddingConfig:
    """`embedding` with the model of a recipe; raises `ConfigError` when it is none."""
    try:
        data = msgspec.json.decode(made_by, type=EmbeddingConfig)
    except msgspec.DecodeError as error:
        raise ConfigError(f"the index names no model: {error}; run `djinn index`") from None
    return replace(embedding, **{key: getattr(data, key) for key in RECIPE})


def named_model(text: str) -> tuple[Provider, str | None]:
    """The provider and model that a user names in a word: `local`, `ollama:nomic-embed-text`,
    `openai:text-embedding-3-small`, or a sentence-transformers model by name or folder.
    """
    name, colon, model = text.partition(":")
    if name in get_args(Provider):
        provider = cast(Provider, name)
        if provider in FOREIGN and not model:
            raise UsageError(f"--model {text}: name the model too, as in {provider}:NAME")
        if provider not in FOREIGN and colon:
            raise UsageError(f"--model {text}: {provider} has no other models; write {provider}")
        return provider, model or None
    if not text.strip():
        raise UsageError("--model is empty; write local, ollama:NAME or openai:NAME")
    return "sentence-transformers", text
