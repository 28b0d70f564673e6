"""The embedding models and the reranker of a home."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from djinn_memory.embedding.embedder import Embedder, create_embedder
from djinn_memory.errors import ConfigError, Remedy, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.settings import (
    CHAT_MODEL,
    MULTILINGUAL,
    PROVIDERS,
    RECIPE,
    EmbeddingConfig,
    Provider,
)
from djinn_memory.models import ProgressCallback, silent

if TYPE_CHECKING:
    from djinn_memory.embedding.cross_encoder import CrossEncoder


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

    Such as `local`, `multilingual`, `ollama:nomic-embed-text`, `openai:text-embedding-3-small`, or
    a sentence-transformers model by name or folder.
    """
    if text == MULTILINGUAL:
        return "local", text
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


class ModelRegistry:
    """The models of a home. Each is created at its first use, and loaded later if necessary."""

    def __init__(self, home: Home, progress: ProgressCallback = silent) -> None:
        self._home = home
        self._progress = progress

    @cached_property
    def embedder(self) -> Embedder | None:
        """The configured embedder; None when searches use only words."""
        return create_embedder(self._home.config.embedding, self._progress)

    @property
    def loaded(self) -> Embedder | None:
        """The packaged embedder if the process has loaded it for something else; else None."""
        if "embedder" not in self.__dict__:
            return None
        from djinn_memory.embedding.local import LocalEmbedder

        embedder = self.embedder
        is_loaded = isinstance(embedder, LocalEmbedder) and embedder.is_packaged_and_loaded
        return embedder if is_loaded else None

    @property
    def name(self) -> str | None:
        """The embedding model's name for users; None when nothing is embedded."""
        settings = self._home.config.embedding
        if settings.provider == "none":
            return None
        packaged = settings.provider in ("auto", "local")
        return settings.model or ("all-MiniLM-L6-v2" if packaged else settings.provider)

    @property
    def recipe(self) -> str:
        """The settings that choose `embedder`, to be stored with its vectors."""
        return to_spec(self._home.config.embedding)

    def answering(self, spec: str | None, identity: str | None) -> Embedder | None:
        """The embedder of queries for vectors of this spec and identity; None without vectors.

        During a model change this returns the old model's embedder, because its vectors still
        answer. If the user has revoked the trust in the old model, it returns `embedder`, which has
        another identity.
        """
        current = self.embedder
        if current is None or spec in (None, self.recipe):
            return current
        if current.ready and current.identity == identity:
            return current
        config = from_spec(self._home.config.embedding, spec or "")
        old = create_embedder(config, self._progress) if self._home.permitted(config) else None
        return old or current

    def wanted(self, spec: str) -> bool:
        """Whether the settings on the disk still request this model."""
        self._home.reread()
        return self.recipe == spec

    @cached_property
    def reranker(self) -> CrossEncoder | None:
        """The configured cross-encoder; None when there is none or when it is a chat model."""
        name = self._home.config.search.rerank
        if not name or name == CHAT_MODEL:
            return None
        from djinn_memory.embedding.cross_encoder import CrossEncoder

        return CrossEncoder(name, self._home.root, self._progress)

    def use(self, text: str) -> None:
        """Change the embedding model. `name` is read by `parse_model`.

        The model is tried first: when it raises `Unavailable`, the settings are unchanged. A
        model's name is trusted because the user typed it. An address or a key that the home's
        settings add to it is not: those raise `Refused`.
        """
        provider, model = parse_model(text)
        if model and provider == "sentence-transformers" and model.startswith("."):
            # The next command may run in another folder.
            model = str(Path(model).resolve())
        changes: dict[str, str | None] = {"provider": provider, "model": model}
        changes |= dict.fromkeys(("dimensions", "query_prompt", "document_prompt"))
        if provider != self._home.written().embedding.provider:
            changes |= dict.fromkeys(("url", "key_env"))
        edits = [(("embedding", key), value) for key, value in changes.items()]
        wanted = self._home.written(*edits).embedding
        self._home.may_use(wanted)
        candidate = create_embedder(wanted, self._progress)
        if candidate:
            candidate.embed(["djinn"])
        self._home.edit(*edits)
        self._home.trust([use for use in self._home.untrusted if use.use == "embedding"])
        self.__dict__.pop("embedder", None)
