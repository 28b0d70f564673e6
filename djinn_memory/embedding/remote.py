"""Embedding models on a server: ollama, and servers with OpenAI's protocol."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from djinn_memory.embedding.embedder import Embedder, plain_name, prompts
from djinn_memory.errors import Unavailable
from djinn_memory.home.config import variable
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.models import Progress, ProgressCallback, Vectors, silent
from djinn_memory.system.http_client import TRIES, HttpServer

QUERY_TRIES = 2
"""Attempts at a request when a user is waiting for the answer."""

DIMENSIONS = {
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "text-embedding-ada-002": 1536,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
}

MAX_VECTOR_BYTES = 8192 * 32
"""Maximum bytes of a vector as JSON: 8192 numbers of 32 characters."""

Rows = list[list[float]]


class _OllamaAnswer(Struct):
    embeddings: Rows

    def rows(self) -> Rows:
        return self.embeddings


class _OpenAiRow(Struct):
    embedding: list[float]
    index: int | None = None


class _OpenAiAnswer(Struct):
    data: list[_OpenAiRow]

    def rows(self) -> Rows:
        """The vectors in the order of `index`, because the protocol promises no order.

        Some servers leave `index` out.
        """
        if any(row.index is None for row in self.data):
            return [row.embedding for row in self.data]
        by_index = {row.index: row.embedding for row in self.data}
        return [by_index[at] for at in range(len(self.data)) if at in by_index]


class _ProviderProtocol(Struct, frozen=True):
    """The requests of a provider, and the defaults of its settings."""

    model: str
    url: str
    path: str
    key_env: str
    needs_key: bool
    fields: dict[str, Any]
    """Fields of a request besides the model and the texts."""
    answer: type[_OllamaAnswer | _OpenAiAnswer]


PROTOCOLS = {
    "ollama": _ProviderProtocol(
        model="nomic-embed-text",
        url="http://127.0.0.1:11434",
        path="/api/embed",
        key_env="OLLAMA_API_KEY",
        needs_key=False,
        fields={"truncate": True},
        answer=_OllamaAnswer,
    ),
    "openai": _ProviderProtocol(
        model="text-embedding-3-small",
        url="https://api.openai.com/v1",
        path="/embeddings",
        key_env="OPENAI_API_KEY",
        needs_key=True,
        fields={"encoding_format": "float"},
        answer=_OpenAiAnswer,
    ),
}


class RemoteEmbedder(Embedder):
    """Sends texts, `config.batch` at a time, to the server of the configured provider.

    The constructor is cheap: the first embedding opens the connection. Every failure raises
    `Unavailable` with one line, within `config.timeout` seconds after its batch was sent.
    """

    local = False

    def __init__(self, config: EmbeddingConfig, progress: ProgressCallback = silent) -> None:
        """Raise `ConfigError` when `embedding.url` is not a URL."""
        self._config = config
        self._protocol = PROTOCOLS[config.provider]
        self.model = config.model or self._protocol.model
        self.prompts = prompts(self.model, config.query_prompt, config.document_prompt)
        self._progress = progress
        self._url = (config.url or self._protocol.url).rstrip("/")
        # Created now, so that a wrong URL is reported before any work begins.
        self._server = self._create_server()

    @cached_property
    def identity(self) -> str:
        """Identifies the provider, the model, the requested dimensions and the prompts.

        The URL counts only for OpenAI's protocol, because each such server has its own models.
        """
        # ollama takes a name without a tag for this tag.
        name, config = self.model.removesuffix(":latest"), self._config
        parts = [config.provider, name, config.dimensions, *astuple(self.prompts)]
        if config.provider == "openai" and self._url != self._protocol.url:
            parts.append(self._url)
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
        readable = re.sub(r"[^\w.]+", "-", name).strip("-")
        return f"{config.provider}-{readable}-{digest}"

    @cached_property
    def dimensions(self) -> int:
        """The configured or known dimensions, else those of a short text that is embedded now."""
        known = self._expected_dimensions
        return known or int(self._request(["djinn"], self._config.timeout).shape[1])

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """Unit vectors, (len(texts), dimensions). The server cuts texts too long for the model."""
        import numpy as np

        prompt = self.prompts.query if query else self.prompts.document
        timeout = self._config.timeout
        deadline = time.monotonic() + min(within or timeout, timeout)
        batches: list[Any] = []
        for at in range(0, len(texts), self._config.batch):
            # Some servers refuse an empty text, and JSON has no lone surrogates.
            batch = [
                (prompt + text or " ").encode(errors="replace").decode()
                for text in texts[at : at + self._config.batch]
            ]
            left = max(0.01, deadline - time.monotonic()) if within else timeout
            batches.append(self._request(batch, left, tries=QUERY_TRIES if within else TRIES))
        return np.concatenate(batches or [np.empty((0, self.dimensions), dtype=np.float32)])

    def _request(self, texts: list[str], timeout: float, *, tries: int = TRIES) -> Vectors:
        protocol, most = self._protocol, (1 << 20) + MAX_VECTOR_BYTES * len(texts)
        body = {"model": self.model, "input": texts, **protocol.fields}
        if self._config.dimensions:
            body["dimensions"] = self._config.dimensions
        answer = self._server.post(
            protocol.path, body, protocol.answer, timeout=timeout, tries=tries, at_most=most
        )
        return self._unit_vectors(answer.rows(), len(texts))

    def _unit_vectors(self, rows: Rows, count: int) -> Vectors:
        """The rows of an answer as unit vectors. Raises `Unavailable` for invalid vectors."""
        import numpy as np

        if len(rows) != count:
            raise self._wrong_answer(f"{len(rows)} vectors for {count} texts")
        lengths = {len(row) for row in rows}
        expected = self._expected_dimensions or self.__dict__.get("dimensions") or max(lengths)
        if lengths != {expected}:
            wrong = min(lengths - {expected})
            raise self._wrong_answer(f"vectors of {wrong} dimensions, not {expected}")
        vectors = np.array(rows, dtype=np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if expected == 0 or not np.isfinite(norms).all() or not norms.all():
            raise self._wrong_answer("vectors of length zero")
        self.__dict__["dimensions"] = expected
        unit: Vectors = (vectors / norms).astype(np.float32)
        return unit

    def _wrong_answer(self, what: str) -> Unavailable:
        return Unavailable(
            f"{self._server.name} returned {what}; "
            "check embedding.model, embedding.dimensions and embedding.url"
        )

    @property
    def _expected_dimensions(self) -> int | None:
        return self._config.dimensions or DIMENSIONS.get(plain_name(self.model))

    def _create_server(self) -> HttpServer:
        config, protocol = self._config, self._protocol
        key_name = config.key_env or protocol.key_env
        key = variable(key_name)
        ollama = config.provider == "ollama"
        return HttpServer(
            config.provider,
            self._url,
            section="embedding",
            timeout=config.timeout,
            key=key,
            key_name=key_name,
            needs_key=bool(config.key_env) or (protocol.needs_key and self._url == protocol.url),
            headers={"authorization": f"Bearer {key}"} if key else {},
            start="start it with `ollama serve`" if ollama else "",
            missing=f"download it with `ollama pull {self.model}`" if ollama else "",
            wait=lambda text: self._progress(Progress("prepare", 0, None, text)),
        )
