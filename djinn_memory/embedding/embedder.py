"""The protocol of an embedding provider, and the provider that the settings choose."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct

from djinn_memory.home.settings import PROVIDERS, EmbeddingConfig
from djinn_memory.models import ProgressCallback, silent

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


class TokenVectors(Struct, frozen=True):
    """The tokens of one text, without those that only mark where it begins and ends."""

    spans: Sequence[tuple[int, int]]
    """Where each token stands in the text, in characters."""
    vectors: Vectors
    """float32 of shape (tokens, dimensions), each row of length 1."""


class Embedder(Protocol):
    """Turns texts into unit vectors.

    A provider is a subclass with an `identity`, its `dimensions` and `embed`. Its constructor takes
    the `embedding` settings and a progress callback, and must be cheap: the model is loaded when it
    is first used. `home.settings.PROVIDERS` registers it.
    """

    @property
    def identity(self) -> str:
        """Names the vector space: weights, dimensions, pooling, normalisation, prompts."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def ready(self) -> bool:
        """Whether `embed` can start at once, with nothing to prepare first."""
        return True

    @property
    def local(self) -> bool:
        """Whether the model runs on this machine: a few texts take a moment and no network."""
        return True

    @property
    def gives_tokens(self) -> bool:
        """Whether `embed_documents` and `question_tokens` give what they say of tokens."""
        return False

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """float32 of shape (len(texts), dimensions), each row of length 1.

        `query` says that the texts are questions: some models want another prompt for them.
        `within` bounds the seconds that a server may take for all texts.
        """

    def embed_documents(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """The vectors of `embed`, and for each text the signs of its tokens' vectors.

        The signs of a token are `dimensions` bits, packed as by `numpy.packbits`: 1 where its
        vector is positive. Tokens that say nothing are left out. There are no signs where the model
        gives only vectors of whole texts.
        """
        return self.embed(texts), [b""] * len(texts)

    def question_tokens(self, text: str) -> TokenVectors | None:
        """The tokens of a question; None where the model gives only vectors of whole texts.

        What is too long for the model is left out.
        """
        return None


def create_embedder(
    config: EmbeddingConfig, progress: ProgressCallback = silent
) -> Embedder | None:
    """The configured provider; None for `none`, which searches by words only."""
    module, _, name = PROVIDERS[config.provider].factory.partition(":")
    # Not `pkgutil.resolve_name`: its import would cost every search a millisecond.
    factory = getattr(import_module(module), name) if module else None
    return cast(Embedder, factory(config, progress)) if factory else None
