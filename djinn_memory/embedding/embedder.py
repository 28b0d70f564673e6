"""The protocol of embedding providers, their prompts by model, and a call in the background."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar, cast

from msgspec import Struct

from djinn_memory.home.settings import PROVIDERS, EmbeddingConfig
from djinn_memory.models import ProgressCallback, Vectors, silent


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

    def check(self) -> None:
        """Raise `Unavailable` when a package is missing without which `embed` cannot start."""

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


class Prompts(Struct, frozen=True):
    """Text put before a question, and before a text to be found; "" for none."""

    query: str = ""
    document: str = ""


_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
_SENTENCE = Prompts("Represent this sentence for searching relevant passages: ")
_SIDES = Prompts("query: ", "passage: ")

# As the model cards give them. The first pattern that matches the beginning of a name counts.
_FAMILIES = (
    ("nomic-embed-text", Prompts("search_query: ", "search_document: ")),
    ("mxbai-embed-large", _SENTENCE),
    # The instruct models expect a description of the task, and none fits all tasks.
    ("(multilingual-)?e5-(small|base|large)(?!.*instruct)", _SIDES),
    ("bge-(small|base|large)-en", _SENTENCE),
    (r"snowflake-arctic-embed(2|.*-v2\b)", Prompts("query: ")),
    ("snowflake-arctic-embed", _SENTENCE),
    ("embeddinggemma", Prompts("task: search result | query: ", "title: none | text: ")),
    ("qwen3-embedding", Prompts(_INSTRUCT)),
)


def plain_name(model: str) -> str:
    """A model's name without its owner and its tag, in lower case."""
    return model.rstrip("/").rpartition("/")[2].partition(":")[0].strip().lower()


def prompts(model: str, query: str | None = None, document: str | None = None) -> Prompts:
    """The prompts of a model by its name; empty for a model that is not known to need them.

    `query` and `document` are set by the user and take precedence. An empty text means no prompt.
    """
    # LM Studio adds this prefix to the models it serves; OpenAI's own models need no prompts.
    name = plain_name(model).removeprefix("text-embedding-")
    known = next((own for family, own in _FAMILIES if re.match(family, name)), Prompts())
    return Prompts(
        known.query if query is None else query, known.document if document is None else document
    )


T = TypeVar("T")

QUERY_SECONDS = 1.5
"""Maximum time that a search can wait for its vector and still answer within two seconds."""


class Background(Generic[T]):
    """A call on a separate thread, such as loading a model while vaults are scanned.

    With `at_once` the call runs in the constructor. That is faster for a call that is shorter than
    a thread switch.
    """

    def __init__(self, call: Callable[[], T], *, at_once: bool = False) -> None:
        self._outcome: Any = None
        self._thread: threading.Thread | None = None
        if at_once:
            self._run(call)
        else:
            # Not a pool: importing one costs more than the one thread that is needed.
            self._thread = threading.Thread(target=self._run, args=(call,))
            self._thread.start()

    def _run(self, call: Callable[[], T]) -> None:
        try:
            self._outcome = call()
        except BaseException as error:
            self._outcome = error

    def result(self) -> T:
        """Wait for the call. Returns its result or raises its error."""
        if self._thread:
            self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        outcome: T = self._outcome
        return outcome
