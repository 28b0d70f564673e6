"""The two forms of a model's name: a word that a user types, and a spec stored with vectors."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, Remedy, UsageError
from djinn_memory.home.settings import PROVIDERS, RECIPE, EmbeddingConfig, Provider


def to_spec(embedding: EmbeddingConfig) -> str:
    """The settings that choose an embedder, as JSON."""
    fields = {key: getattr(embedding, key) for key in RECIPE}
    fields["provider"] = "local" if embedding.provider == "auto" else embedding.provider
    return msgspec.json.encode({k: v for k, v in fields.items() if v is not None}).decode()


def from_spec(embedding: EmbeddingConfig, spec: str) -> EmbeddingConfig:
    """`embedding` with the model of a spec; raises `ConfigError` for a damaged spec."""
    try:
        data = msgspec.json.decode(spec, type=EmbeddingConfig)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"the index specifies an invalid model: {error}", Remedy("index")
        ) from None
    return replace(embedding, **{key: getattr(data, key) for key in RECIPE})


def parse_model(text: str) -> tuple[Provider, str | None]:
    """The provider and the model in a word that a user types.

    Such as `local`, `ollama:nomic-embed-text`, `openai:text-embedding-3-small`, or a
    sentence-transformers model by name or folder.
    """
    name, colon, model = text.partition(":")
    if name in PROVIDERS:
        if PROVIDERS[name].foreign and not model:
            raise UsageError(
                f"{text}: add the name of the model, as in {name}:NAME", argument="model"
            )
        if not PROVIDERS[name].foreign and colon:
            raise UsageError(f"{text}: {name} has only one model; write {name}", argument="model")
        return name, model or None
    if not text.strip():
        raise UsageError("is empty; write local, ollama:NAME or openai:NAME", argument="model")
    return "sentence-transformers", text
