"""The protocol of embedding providers, and the choice of a provider by the settings."""

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
    """The tokens of one text, without the special tokens at its start and end."""

    spans: Sequence[tuple[int, int]]
    """The span of each token in the text, in characters."""
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
        """Identifies the vector space: weights, dimensions, pooling, normalisation, prompts."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def ready(self) -> bool:
        """Whether `embed` can start at once, without preparing a model."""
        return True

    @property
    def local(self) -> bool:
        """Whether the model is on this machine. A few texts are then fast and need no network."""
        return True

    @property
    def gives_tokens(self) -> bool:
        """Whether `embed_documents` and `question_tokens` return tokens."""
        return False

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """float32 of shape (len(texts), dimensions), each row of length 1.

        `query` is whether the texts are questions: some models need a different prompt for them.
        `within` limits the seconds that a server may take for all texts.
        """

    def embed_documents(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """The vectors of `embed`, and for each text the signs of its tokens' vectors.

        The signs of a token are `dimensions` bits, packed as by `numpy.packbits`: 1 where its
        vector is positive. Stop words and punctuation are left out. There are no signs when the
        model returns only vectors of whole texts.
        """
        return self.embed(texts), [b""] * len(texts)

    def question_tokens(self, text: str) -> TokenVectors | None:
        """The tokens of a question; None when the model returns only vectors of whole texts.

        Tokens beyond the model's limit are left out.
        """
        return None


def create_embedder(
    config: EmbeddingConfig, progress: ProgressCallback = silent
) -> Embedder | None:
    """The configured provider; None for `none`, which means that searches use only words."""
    module, _, name = PROVIDERS[config.provider].factory.partition(":")
    # Not `pkgutil.resolve_name`: its import would cost every search a millisecond.
    factory = getattr(import_module(module), name) if module else None
    return cast(Embedder, factory(config, progress)) if factory else None
