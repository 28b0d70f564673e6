"""Models behind a server: ollama, and whatever speaks OpenAI's protocol."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from djinn_memory.embedding.prompts import plain_name, prompts
from djinn_memory.errors import Unavailable
from djinn_memory.home.config import secret
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.models import Progress, ProgressCallback, silent
from djinn_memory.system.http_client import TRIES, HttpServer

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

HASTY_TRIES = 2
"""Where somebody waits for the answer."""

DIMENSIONS = {
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "text-embedding-ada-002": 1536,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
}

LONGEST = 8192 * 32
"""Bytes that the JSON of a vector may take: 8192 numbers of 32 characters."""

Rows = list[list[float]]


class _Ollama(Struct):
    embeddings: Rows


class _Item(Struct):
    embedding: list[float]
    index: int | None = None


class _OpenAi(Struct):
    data: list[_Item]


def _ordered(answer: _OpenAi) -> Rows:
    """By `index`: the protocol promises no other order. Servers that leave it out keep theirs."""
    if any(item.index is None for item in answer.data):
        return [item.embedding for item in answer.data]
    by_place = {item.index: item.embedding for item in answer.data}
    return [by_place[at] for at in range(len(answer.data)) if at in by_place]


class ProviderProtocol(Struct, frozen=True):
    """How a provider is asked, and what holds when the settings say nothing."""

    model: str
    url: str
    path: str
    key_env: str
    needs_key: bool
    fields: dict[str, Any]
    """What a request says beside the model and the texts."""
    answer: type[Any]
    rows: Callable[[Any], Rows]


PROTOCOLS = {
    "ollama": ProviderProtocol(
        model="nomic-embed-text",
        url="http://127.0.0.1:11434",
        path="/api/embed",
        key_env="OLLAMA_API_KEY",
        needs_key=False,
        fields={"truncate": True},
        answer=_Ollama,
        rows=lambda answer: answer.embeddings,
    ),
    "openai": ProviderProtocol(
        model="text-embedding-3-small",
        url="https://api.openai.com/v1",
        path="/embeddings",
        key_env="OPENAI_API_KEY",
        needs_key=True,
        fields={"encoding_format": "float"},
        answer=_OpenAi,
        rows=_ordered,
    ),
}


class RemoteEmbedder:
    """Sends texts, `config.batch` at a time, to the server of the configured provider.

    Cheap to make: the first text that is embedded opens the connection. Every failure is an
    `Unavailable` of one line, within `config.timeout` seconds of the batch's start.
    """

    ready = True
    local = False

    def __init__(self, config: EmbeddingConfig, progress: ProgressCallback = silent) -> None:
        """Raise `ConfigError` when `embedding.url` is no URL."""
        self._config = config
        self._protocol = PROTOCOLS[config.provider]
        self.model = config.model or self._protocol.model
        self.prompts = prompts(self.model, config.query_prompt, config.document_prompt)
        self._progress = progress
        self._url = (config.url or self._protocol.url).rstrip("/")
        # Checked now, so that a wrong setting is told before anything is begun.
        self._server = self._make_server()

    @cached_property
    def identity(self) -> str:
        """Of the provider, the model, the dimensions asked for and the prompts.

        Where a model is served from matters for OpenAI's protocol only: there each server has
        models of its own.
        """
        told = [
            self._config.provider,
            self._name,
            self._config.dimensions,
            self.prompts.query,
            self.prompts.document,
        ]
        if self._config.provider == "openai" and self._url != self._protocol.url:
            told.append(self._url)
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
        readable = re.sub(r"[^\w.]+", "-", self._name).strip("-")
        return f"{self._config.provider}-{readable}-{digest}"

    @cached_property
    def dimensions(self) -> int:
        """As configured, or known of the model; else what the server says, by one short text."""
        known = self._expected
        return known if known else int(self._ask(["djinn"], self._config.timeout).shape[1])

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """Unit vectors, (len(texts), dimensions); what is too long for the model is cut there."""
        import numpy as np

        prompt = self.prompts.query if query else self.prompts.document
        deadline = time.monotonic() + min(within or self._config.timeout, self._config.timeout)
        made: list[Any] = []
        for at in range(0, len(texts), self._config.batch):
            # Some servers refuse an empty text, and JSON has no lone surrogates.
            part = [
                (prompt + text or " ").encode(errors="replace").decode()
                for text in texts[at : at + self._config.batch]
            ]
            left = max(0.01, deadline - time.monotonic()) if within else self._config.timeout
            made.append(self._ask(part, left, tries=HASTY_TRIES if within else TRIES))
        if made:
            return np.concatenate(made)
        return np.empty((0, self.dimensions), dtype=np.float32)

    def _ask(self, texts: list[str], timeout: float, *, tries: int = TRIES) -> Vectors:
        body = {"model": self.model, "input": texts, **self._protocol.fields}
        if self._config.dimensions:
            body["dimensions"] = self._config.dimensions
        answer = self._server.post(
            self._protocol.path,
            body,
            self._protocol.answer,
            timeout=timeout,
            tries=tries,
            at_most=(1 << 20) + LONGEST * len(texts),
        )
        return self._checked(self._protocol.rows(answer), len(texts))

    def _checked(self, rows: Rows, count: int) -> Vectors:
        import numpy as np

        if len(rows) != count:
            raise self._nonsense(f"{len(rows)} vectors for {count} texts")
        lengths = {len(row) for row in rows}
        expected = self._expected or self.__dict__.get("dimensions") or max(lengths)
        if lengths != {expected}:
            wrong = min(lengths - {expected})
            raise self._nonsense(f"vectors of {wrong} dimensions, not {expected}")
        vectors = np.array(rows, dtype=np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if expected == 0 or not np.isfinite(norms).all() or not norms.all():
            raise self._nonsense("vectors that have no direction")
        self.__dict__["dimensions"] = expected
        made: Vectors = (vectors / norms).astype(np.float32)
        return made

    def _nonsense(self, what: str) -> Unavailable:
        return Unavailable(
            f"{self._server.name} answers with {what}; "
            "check embedding.model, embedding.dimensions and embedding.url"
        )

    @property
    def _expected(self) -> int | None:
        return self._config.dimensions or DIMENSIONS.get(plain_name(self.model))

    @property
    def _name(self) -> str:
        # ollama takes a name without a tag for this one.
        return self.model.removesuffix(":latest")

    def _make_server(self) -> HttpServer:
        key_name = self._config.key_env or self._protocol.key_env
        key = secret(key_name)
        makers_own = self._url == self._protocol.url
        ollama = self._config.provider == "ollama"
        return HttpServer(
            self._config.provider,
            self._url,
            section="embedding",
            timeout=self._config.timeout,
            key=key,
            key_name=key_name,
            needs_key=bool(self._config.key_env) or (self._protocol.needs_key and makers_own),
            headers={"authorization": f"Bearer {key}"} if key else {},
            start="start it with `ollama serve`" if ollama else "",
            missing=f"get it with `ollama pull {self.model}`" if ollama else "",
            wait=lambda text: self._progress(Progress("prepare", 0, None, text)),
        )
