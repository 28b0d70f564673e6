"""Gives every window of the index a vector, from the cache or from the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection

from msgspec import Struct

from djinn_memory.embedding.calibration import calibrate
from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import Busy, Unavailable
from djinn_memory.models import Progress, ProgressCallback, silent
from djinn_memory.store.index import vectors
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.sqlite import Connection, transaction
from djinn_memory.store.state import State
from djinn_memory.store.vector_cache import EmbeddingCache, stored, text_hash

COMMIT_WINDOWS = 128
"""Number of windows between two commits. A kill loses at most a few seconds of work."""

GLANCE_SECONDS = 0.2
"""A lock held for more seconds than this belongs to a process that is really working. Status probes
are shorter."""

CACHED_AT_ONCE = 2000
"""Number of vectors that one transaction copies from the cache: 3 MB."""

Waiting = dict[bytes, tuple[list[int], int]]
"""By text hash: the windows that wait for its vector, and the text's length in tokens."""


def embed(
    state: State,
    embedder: Embedder,
    recipe: str,
    *,
    progress: ProgressCallback = silent,
    step: int | None = None,
    at_most: int | None = None,
    only: Collection[int] | None = None,
    rebuild: bool = False,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[int, int]:
    """Create missing vectors. Returns how many texts were embedded and how many were reused.

    A text is embedded once, even if several windows have it. Vectors of another identity answer
    until those of `embedder` are complete. `recipe` is stored so that queries can later be embedded
    for these vectors. Vectors are committed every `step` texts.

    With `at_most`, only that many of the newest texts are embedded, and only if the vectors in use
    are those of `embedder`, or there are none yet. With `only`, the numbers of compartments in the
    index, only their texts are embedded. With `rebuild`, every window gets a new vector. The run
    ends early when the model is no longer `wanted`. Other processes may change notes in the
    meantime. Two processes must not embed at the same time, except with `at_most`.
    """
    connection = state.index
    # A small contribution must neither begin a change of model nor end one.
    space = vectors.serving(connection) if at_most else None
    if space is None and wanted():
        space = _space(state, embedder, recipe, rebuild=rebuild)
    if space is None or space.identity != embedder.identity:
        return 0, 0
    batch = state.home.config.embedding.batch
    # A server may fail at any time, so every batch is committed.
    step = step or (max(COMMIT_WINDOWS, batch) if embedder.local else batch)
    run = _EmbeddingRun(connection, state.cache, embedder, space, progress, step, wanted, only)
    embedded = reused = 0
    # Windows that other processes add meanwhile are embedded too, while the space is still wanted.
    while waiting := run.waiting(at_most):
        known = run.reuse(waiting)
        count = run.embed(waiting, newest=at_most is not None)
        embedded, reused = embedded + count, reused + known
        # In a damaged index a window may belong to no note: waiting for it would never end.
        if not (count or known) or at_most is not None or not (run.current and wanted()):
            break
    if at_most is None and only is None and wanted():
        embedded += run.embed_without_tokens()
    if not space.serving and wanted():
        with transaction(connection):
            waits = vectors.windows(connection, space, embedded=False)
            if vectors.coming(connection) == space and not waits:
                vectors.take_over(connection, space)
    return embedded, reused


def embed_all(
    state: State,
    embedder: Embedder,
    recipe: str,
    *,
    progress: ProgressCallback,
    rebuild: bool,
    waits: bool,
    wanted: Callable[[], bool],
) -> tuple[int, int]:
    """As `embed`, repeated until no window waits after the embedding lock is released.

    A process that does not wait leaves its windows to the holder of the lock. The holder may have
    checked for the last time just before, so it checks again after it has released the lock.
    """
    embedded = reused = 0
    while True:
        try:
            patience = None if waits else GLANCE_SECONDS
            with state.lock("embed", timeout=patience):
                new, cached = embed(
                    state, embedder, recipe, progress=progress, rebuild=rebuild, wanted=wanted
                )
        except Busy:
            if waits:
                raise
            return embedded, reused
        embedded, reused, rebuild = embedded + new, reused + cached, False
        waiting = any(
            vectors.windows(state.index, space, embedded=False)
            for space in vectors.spaces(state.index)
            if space.identity == embedder.identity
        )
        if not (waiting and wanted()):
            return embedded, reused


def restore(state: State, embedder: Embedder, recipe: str) -> None:
    """Copy vectors from the cache to windows, without using the model."""
    serving = vectors.serving(state.index)
    if state.cache.known(embedder.identity) is None:
        return
    if serving is None or serving.identity == embedder.identity:
        space = _space(state, embedder, recipe, rebuild=False)
        run = _EmbeddingRun(state.index, state.cache, embedder, space, silent, 1, lambda: True)
        run.reuse(run.waiting())


def _space(state: State, embedder: Embedder, recipe: str, *, rebuild: bool) -> VectorSpace:
    """The space of `embedder`, created if it does not exist.

    If it is in use, all others are dropped.
    """
    connection, identity = state.index, embedder.identity
    spaces = vectors.spaces(connection)
    space = next((space for space in spaces if space.identity == identity), None)
    known = state.cache.known(identity)
    if known is None and (space is None or rebuild):
        known = (embedder.dimensions, calibrate(embedder))
        state.cache.know(identity, *known)
    with transaction(connection):
        for other in spaces:
            if rebuild or (space and space.serving and other is not space):
                vectors.drop(connection, other)
        if space is None or rebuild:
            assert known
            return vectors.begin(connection, identity, known[0], recipe, known[1])
        return vectors.keep_recipe(connection, space, recipe)


class _EmbeddingRun(Struct):
    """Fills one space with vectors."""

    connection: Connection
    cache: EmbeddingCache
    embedder: Embedder
    space: VectorSpace
    progress: ProgressCallback
    step: int
    wanted: Callable[[], bool]
    only: Collection[int] | None = None
    """The vaults whose texts are embedded; None stands for all."""

    @property
    def current(self) -> bool:
        """Whether the vector space is in use or is being built."""
        return self.space in vectors.spaces(self.connection)

    def waiting(self, most: int | None = None) -> Waiting:
        """The texts that wait for a vector, or the `most` newest of them."""
        waiting: Waiting = defaultdict(lambda: ([], 0))
        listed = vectors.windows(self.connection, self.space, self.only, embedded=False)
        for window, key, length in listed:
            windows, _ = waiting[key]
            windows.append(window)
            waiting[key] = (windows, length)
        # Vectors in the cache count too: they may come from a vault that is hidden here.
        newest = sorted(waiting, key=lambda key: -waiting[key][0][-1])[:most]
        return {key: waiting[key] for key in newest}

    def embed(self, waiting: Waiting, *, newest: bool = False) -> int:
        """Embed waiting texts, with `newest` in their order. Returns their number."""
        # Windows of like length share a batch, which pads least. The longest come first, so that
        # the remaining time is over- rather than understated.
        order = list(waiting) if newest else sorted(waiting, key=lambda key: -waiting[key][1])
        embedded = 0
        for start in range(0, len(order), self.step):
            batch = order[start : start + self.step]
            texts = vectors.texts(self.connection, [waiting[key][0][0] for key in batch])
            # A note that changed meanwhile took its windows with it; others may have their numbers.
            text_of = {text_hash(text): text for text in texts.values()}
            batch = [key for key in batch if key in text_of]
            rows, signs = self.embedder.embed_documents([text_of[key] for key in batch])
            if batch and rows.shape[1] != self.space.dimensions:
                raise Unavailable(
                    f"{self.space.identity} returns vectors of {rows.shape[1]} dimensions instead "
                    f"of {self.space.dimensions}; set embedding.dimensions to the new number"
                )
            fresh = stored(batch, rows)
            tokens = {key: packed for key, packed in zip(batch, signs, strict=True) if packed}
            self.cache.put(self.space.identity, fresh, tokens)
            self._add([(window, key, fresh[key]) for key in batch for window in waiting[key][0]])
            embedded += len(batch)
            if not self.wanted():
                break
            self.progress(Progress("embed", embedded, len(order)))
        return embedded

    def embed_without_tokens(self) -> int:
        """Embed texts again that an earlier version embedded without token signs.

        Returns their number.
        """
        identity = self.space.identity
        if not (self.embedder.gives_tokens and self.cache.lacks_tokens(identity)):
            return 0
        lacking: Waiting = defaultdict(lambda: ([], 0))
        for window, key, length in vectors.windows(self.connection, self.space, embedded=True):
            lacking[key] = ([*lacking[key][0], window], length)
        for key in self.cache.token_signs(identity, list(lacking)):
            del lacking[key]
        embedded = self.embed(lacking)
        if embedded == len(lacking):
            self.cache.has_tokens(identity)
        return embedded

    def reuse(self, waiting: Waiting) -> int:
        """Copy vectors of `waiting` from the cache. Returns how many windows got a vector."""
        reused, keys = 0, list(waiting)
        for start in range(0, len(keys), CACHED_AT_ONCE):
            cached = self.cache.get(self.space.identity, keys[start : start + CACHED_AT_ONCE])
            known = [(window, key, cached[key]) for key in cached for window in waiting.pop(key)[0]]
            if known:
                self._add(known)
                reused += len(known)
        return reused

    def _add(self, embedded: list[tuple[int, bytes, bytes]]) -> None:
        with transaction(self.connection):
            # Another process may have changed to another model since.
            if self.current:
                vectors.add(self.connection, self.space, embedded)
