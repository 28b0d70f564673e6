"""A query's vector, made while something else is done."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from djinn_memory.models import Embedder

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


class Ahead:
    """Embeds a query on a thread of its own while the index is opened and the vaults looked at."""

    def __init__(self, embedder: Embedder, text: str) -> None:
        self.ready = embedder.ready
        self._outcome: Any = None
        # Not a pool: importing one costs more than the one thread that is needed.
        self._thread = threading.Thread(target=self._run, args=(embedder, text))
        if self.ready:
            self._thread.start()

    def _run(self, embedder: Embedder, text: str) -> None:
        try:
            self._outcome = embedder.embed([text], query=True)[0]
        except BaseException as error:
            self._outcome = error

    def result(self) -> Vectors:
        """The vector, waited for; raises what embedding raised."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        vector: Vectors = self._outcome
        return vector
