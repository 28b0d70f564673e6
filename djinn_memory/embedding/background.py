"""Vectors made while something else is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from djinn_memory.models import Embedder

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

T = TypeVar("T")

QUERY_SECONDS = 1.5
"""What a search can wait for its vector and still answer within two seconds."""


class Background(Generic[T]):
    """Does something on a thread of its own, such as to load a model while vaults are looked at.

    Or at once, where it takes less than to hand it to a thread and back.
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
        """What it came to, waited for; raises what it raised."""
        if self._thread:
            self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        outcome: T = self._outcome
        return outcome


def ahead(
    embedder: Embedder,
    texts: Sequence[str],
    weights: Sequence[float] = (),
    *,
    at_once: bool = False,
) -> Background[Vectors]:
    """Begins to embed a query; several texts get the mean of their vectors by `weights`, or of
    equal ones, of length 1.
    """
    return Background(
        lambda: _mean(embedder.embed(texts, query=True, within=QUERY_SECONDS), weights),
        at_once=at_once,
    )


def _mean(vectors: Vectors, weights: Sequence[float]) -> Vectors:
    if len(vectors) == 1:
        only: Vectors = vectors[0]
        return only
    import numpy as np

    mean = np.average(vectors, axis=0, weights=weights or None)
    # Texts that say the opposite leave nothing to divide by.
    unit: Vectors = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
    return unit
