"""The endpoints that a home may reach. The settings of a cloned home must not send notes anywhere.

An endpoint is allowed when the user's own settings name it, or when the user trusted this home with
it by `djinn config trust`. When a setting changes, for example by `git pull`, the user must trust
it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, Remedy
from djinn_memory.home import config as configuration
from djinn_memory.home.settings import CHAT_MODEL, PROVIDERS, RECIPE, Config, EmbeddingConfig
from djinn_memory.system.files import write_atomic
from djinn_memory.system.locks import lock


class Endpoint(msgspec.Struct, frozen=True):
    """A server that would receive texts, or a model that would be fetched and loaded."""

    use: Literal["embedding", "rerank", "llm", "working_memory", "sync"]
    """The setting or section that names it; `rerank` is `search.rerank`."""
    provider: str
    """The provider whose protocol it speaks, or the library that loads the model."""
    model: str | None = None
    """The model's name or folder."""
    url: str | None = None
    """The address of the server; null for the provider's own."""
    key_env: str | None = None
    """The environment variable that holds the key, if the settings name one."""

    def __str__(self) -> str:
        what = f"{self.use} provider {self.provider}"
        what += f" with model {self.model}" if self.model else ""
        # A URL may hold a password.
        what += f" at {re.sub('//[^/]*@', '//***@', self.url)}" if self.url else ""
        joint = "and" if self.model else "with"
        return what + (f" {joint} the key in {self.key_env}" if self.key_env else "")


def of_embedding(embedding: EmbeddingConfig) -> Endpoint | None:
    """The endpoint of an embedder. None for djinn's own model."""
    if not PROVIDERS[embedding.provider].foreign:
        return None
    return Endpoint(
        "embedding", embedding.provider, embedding.model, embedding.url, embedding.key_env
    )


def endpoints(config: Config) -> list[Endpoint]:
    """Every endpoint that these settings would reach."""
    llm, server, rerank = config.llm, config.working_memory, config.search.rerank
    sync = config.sync
    encoder = None if rerank == CHAT_MODEL else rerank
    candidates = (
        of_embedding(config.embedding),
        encoder and Endpoint("rerank", "sentence-transformers", encoder),
        llm.model and Endpoint("llm", llm.provider, llm.model, llm.url, llm.key_env),
        server and Endpoint("working_memory", "redis", None, server, config.working.key_env),
        sync.url and Endpoint("sync", "postgres", None, sync.url, sync.key_env),
    )
    return [endpoint for endpoint in candidates if isinstance(endpoint, Endpoint)]


def restrict(
    config: Config, own: Config, trusted: Sequence[Endpoint]
) -> tuple[Config, list[Endpoint]]:
    """`config` without endpoints that are neither in `own`, the user's settings, nor in `trusted`.

    The user's own settings replace them. Also returns the endpoints that were removed.
    """
    allowed = [*endpoints(own), *trusted]
    refused = [endpoint for endpoint in endpoints(config) if endpoint not in allowed]
    for endpoint in refused:
        if endpoint.use == "embedding":
            model = {key: getattr(own.embedding, key) for key in RECIPE}
            config = replace(config, embedding=replace(config.embedding, **model))
        elif endpoint.use == "rerank":
            config = replace(config, search=replace(config.search, rerank=own.search.rerank))
        elif endpoint.use == "working_memory":
            working = replace(config.working, key_env=own.working.key_env)
            config = replace(config, working_memory=own.working_memory, working=working)
        elif endpoint.use == "sync":
            sync = replace(config.sync, url=own.sync.url, key_env=own.sync.key_env)
            config = replace(config, sync=sync)
        else:
            config = replace(config, llm=own.llm)
    return config, refused


def trusted(root: Path) -> list[Endpoint]:
    """The endpoints with which the user trusts the home at `root`."""
    return _read().get(str(root), [])


def trust_path() -> Path:
    """The file that records the user's trust. It need not exist."""
    return configuration.user_folder() / "trusted.json"


def _read() -> dict[str, list[Endpoint]]:
    path = trust_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, list[Endpoint]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}; correct or delete the file", Remedy("config.trust")
        ) from None


@contextmanager
def editing() -> Iterator[dict[str, list[Endpoint]]]:
    """The trusted endpoints by the folder of a home, written back when the block ends."""
    path = trust_path()
    with lock(path.with_suffix(".lock")):
        homes = _read()
        yield homes
        data = msgspec.json.format(msgspec.json.encode(homes))
        write_atomic(path, data, private=True)
