"""Embeds episodes on a thread while further ones are recorded.

Recording keeps one core busy, and the model can use the others meanwhile.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from types import TracebackType

from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.runtime import Runtime
from djinn_memory.system.waits import WaitBudget, limited


class EmbeddingAhead:
    """A thread that embeds what is indexed, until the end of a block.

    It is a help only: what it does not embed, or cannot, is left for `djinn index`.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._thread: threading.Thread | None = None
        self._more = threading.Event()
        self._ends = threading.Event()
        self._waits = WaitBudget()
        self.embedded = 0
        """The number of texts that were embedded."""

    def __enter__(self) -> EmbeddingAhead:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._waits.end()
        self._more.set()
        if self._thread:
            self._thread.join()

    def begin(self) -> None:
        """Embed what is indexed now. The call returns at once."""
        self._more.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="djinn-embed", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        # A home's databases serve one thread at a time.
        runtime = Runtime(Home(self._home.root))
        try:
            while self._more.wait() and not self._ends.is_set():
                self._more.clear()
                with suppress(DjinnError), limited(self._waits):
                    self._embed(runtime)
        finally:
            runtime.close()

    def _embed(self, runtime: Runtime) -> None:
        from djinn_memory.indexing.embed import embed_all

        models = runtime.models
        embedder, recipe = models.embedder, models.recipe
        if embedder is None or not embedder.local or not embedder.ready:
            return

        def wanted() -> bool:
            return not self._ends.is_set() and models.wanted(recipe)

        embedded, _ = embed_all(
            runtime.state,
            embedder,
            recipe,
            progress=runtime.progress,
            rebuild=False,
            waits=False,
            wanted=wanted,
        )
        self.embedded += embedded
