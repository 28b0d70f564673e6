"""A query's vector, made while something else is done."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from djinn_memory.models import Embedder

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


QUERY_SECONDS = 1.5
"""What a search can wait for its vector and still answer within two seconds."""


class Ahead:
    """Embeds a query on a thread of its own while the vaults are looked at.

    A query of several texts gets the mean of their vectors by `weights`, or of equal ones.
    """

    def __init__(
        self, embedder: Embedder, texts: Sequence[str], weights: Sequence[float] = ()
    ) -> None:
        self._outcome: Any = None
        # Not a pool: importing one costs more than the one thread that is needed.
        self._thread = threading.Thread(target=self._run, args=(embedder, texts, weights))
        self._thread.start()

    def _run(self, embedder: Embedder, texts: Sequence[str], weights: Sequence[float]) -> None:
        try:
            self._outcome = _mean(embedder.embed(texts, query=True, within=QUERY_SECONDS), weights)
        except BaseException as error:
            self._outcome = error

    def result(self) -> Vectors:
        """The mean of the texts' vectors, of length 1; raises what embedding raised."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        vector: Vectors = self._outcome
        return vector


def _mean(vectors: Vectors, weights: Sequence[float]) -> Vectors:
    if len(vectors) == 1:
        only: Vectors = vectors[0]
        return only
    import numpy as np

    mean = np.average(vectors, axis=0, weights=weights or None)
    # Texts that say the opposite leave nothing to divide by.
    unit: Vectors = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
    return unit
