"""Embeds a query on a thread while the search does other work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from djinn_memory.embedding.embedder import Embedder

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

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


def embed_in_background(
    embedder: Embedder,
    texts: Sequence[str],
    weights: Sequence[float] = (),
    *,
    at_once: bool = False,
) -> Background[Vectors]:
    """Start to embed a query. The vector of several texts is their mean, scaled to length 1.

    `weights` are the weights of the texts in the mean. Without them, all texts have equal weight.
    """
    return Background(
        lambda: _mean(embedder.embed(texts, query=True, within=QUERY_SECONDS), weights),
        at_once=at_once,
    )


def _mean(vectors: Vectors, weights: Sequence[float]) -> Vectors:
    if len(vectors) == 1:
        vector: Vectors = vectors[0]
        return vector
    import numpy as np

    mean = np.average(vectors, axis=0, weights=weights or None)
    # The mean of opposite vectors is 0 and has no length to divide by.
    unit: Vectors = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
    return unit
