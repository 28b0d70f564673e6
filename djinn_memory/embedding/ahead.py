"""A query's vector, made while something else is done."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from djinn_memory.models import Embedder

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


class Ahead:
    """Embeds a query on a thread of its own while the vaults are looked at."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self._outcome: Any = None
        # Not a pool: importing one costs more than the one thread that is needed.
        self._thread = threading.Thread(target=self._run, args=(embedder, texts))
        self._thread.start()

    def _run(self, embedder: Embedder, texts: Sequence[str]) -> None:
        try:
            self._outcome = embedder.embed(texts, query=True)
        except BaseException as error:
            self._outcome = error

    def result(self) -> Vectors:
        """The mean of the texts' vectors, of length 1; raises what embedding raised."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        vectors: Vectors = self._outcome
        if len(vectors) > 1:
            vectors = vectors.mean(axis=0, keepdims=True)
            vectors /= max(1e-9, float((vectors @ vectors.T).item()) ** 0.5)
        return vectors[0]  # type: ignore[no-any-return]
