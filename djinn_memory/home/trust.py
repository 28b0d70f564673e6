"""What a home may reach. A cloned home's settings must not send notes anywhere by themselves.

An endpoint counts when the user's own settings name it, or when the user said `djinn trust` for
just this endpoint in just this home: a setting that changes, by a `git pull` say, is asked anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import ConfigError
from djinn_memory.home import config as configuration
from djinn_memory.home.settings import PROVIDERS, RECIPE, Config, EmbeddingConfig
from djinn_memory.system.files import write_atomic
from djinn_memory.system.locks import lock


class Endpoint(msgspec.Struct, frozen=True):
    """A server that texts would be sent to, or a model that would be fetched and loaded."""

    use: Literal["embedding", "rerank", "llm", "working_memory"]
    """What it is for: the setting that names it, or its section; `search.rerank` too."""
    provider: str
    """Whose protocol it speaks, or the library that loads the model."""
    model: str | None = None
    """The model's name or folder."""
    url: str | None = None
    """The server, where the settings name one; null for the provider's own."""
    key_env: str | None = None
    """The environment variable that holds the key, where the settings name one."""

    def __str__(self) -> str:
        what = f"{self.use}: {self.provider}"
        what += f" {self.model}" if self.model else ""
        # A URL may hold a password.
        what += f" at {re.sub('//[^/]*@', '//***@', self.url)}" if self.url else ""
        return what + (f" with the key in {self.key_env}" if self.key_env else "")


def of_embedding(embedding: EmbeddingConfig) -> Endpoint | None:
    """What an embedder reaches beyond djinn's own model; None for nothing."""
    if not PROVIDERS[embedding.provider].foreign:
        return None
    return Endpoint(
        "embedding", embedding.provider, embedding.model, embedding.url, embedding.key_env
    )


def endpoints(config: Config) -> list[Endpoint]:
    """Everything that these settings would reach."""
    found = [of_embedding(config.embedding)]
    if config.search.rerank:
        found.append(Endpoint("rerank", "sentence-transformers", config.search.rerank))
    llm = config.llm
    if llm.model:
        found.append(Endpoint("llm", llm.provider, llm.model, llm.url, llm.key_env))
    if config.working_memory:
        working = config.working_memory
        found.append(Endpoint("working_memory", "redis", None, working, config.working.key_env))
    return [one for one in found if one]


def curb(config: Config, own: Config, trusted: Sequence[Endpoint]) -> tuple[Config, list[Endpoint]]:
    """`config` without the endpoints that neither `own`, the user's, nor `trusted` has.

    In their place stands what the user's own settings say. Also returns what was left out.
    """
    allowed = [*endpoints(own), *trusted]
    refused = [one for one in endpoints(config) if one not in allowed]
    for one in refused:
        if one.use == "embedding":
            kept = {key: getattr(own.embedding, key) for key in RECIPE}
            config = replace(config, embedding=replace(config.embedding, **kept))
        elif one.use == "rerank":
            config = replace(config, search=replace(config.search, rerank=own.search.rerank))
        elif one.use == "working_memory":
            working = replace(config.working, key_env=own.working.key_env)
            config = replace(config, working_memory=own.working_memory, working=working)
        else:
            config = replace(config, llm=own.llm)
    return config, refused


def trusted(root: Path) -> list[Endpoint]:
    """What the user has trusted the home at `root` with."""
    return _read().get(str(root), [])


def trust(root: Path, found: Sequence[Endpoint]) -> None:
    """Trust the home at `root` with these endpoints, beside those of before."""
    with _changing() as known:
        kept = known.get(str(root), [])
        known[str(root)] = [*kept, *(one for one in found if one not in kept)]


def distrust(root: Path) -> bool:
    """Trust the home at `root` with nothing again; whether it was with something."""
    with _changing() as known:
        return bool(known.pop(str(root), None))


def trust_path() -> Path:
    """The file in which the user's trust is written, which need not be there."""
    return configuration.user_folder() / "trusted.json"


def _read() -> dict[str, list[Endpoint]]:
    path = trust_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, list[Endpoint]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}; mend or delete it, then run `djinn trust` again"
        ) from None


@contextmanager
def _changing() -> Iterator[dict[str, list[Endpoint]]]:
    """The known homes, written back when the block ends."""
    path = trust_path()
    with lock(path.with_suffix(".lock")):
        known = _read()
        yield known
        write_atomic(path, msgspec.json.format(msgspec.json.encode(known)))
