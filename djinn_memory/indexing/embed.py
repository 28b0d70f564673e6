"""Gives every window of the index a vector: from the cache if it has one, else by the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from djinn_memory.chunking.window_text import path_at, prefix, window_text
from djinn_memory.embedding.calibration import calibrate
from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import Unavailable
from djinn_memory.models import Progress, ProgressCallback, silent
from djinn_memory.store.index import vectors
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.sqlite import Connection, transaction
from djinn_memory.store.vector_cache import EmbeddingCache

COMMIT_WINDOWS = 128
"""Windows between two commits: a kill costs at most a few seconds of work."""

CACHED_AT_ONCE = 2000
"""Vectors that one transaction takes from the cache: 3 MB."""


def embed(
    connection: Connection,
    cache: EmbeddingCache,
    embedder: Embedder,
    recipe: str,
    *,
    progress: ProgressCallback = silent,
    step: int = COMMIT_WINDOWS,
    at_most: int | None = None,
    rebuild: bool = False,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[int, int]:
    """Fill in missing vectors; returns how many texts were embedded and how many were reused.

    A text is embedded once, however many windows hold it. Vectors of another identity go on
    answering until those of `embedder` are complete. `recipe` is stored for whoever has to embed a
    query for these vectors later. Vectors are committed every `step` texts.

    With `at_most`, only that many of the newest texts are embedded, and only if the vectors of
    `embedder` answer. With `rebuild`, every window gets a new vector. The run ends early when the
    model is no longer `wanted`. Other processes may change notes meanwhile. Two processes may not
    embed at the same time, except with `at_most`.
    """
    space: VectorSpace | None
    if at_most is None:
        space = _space(connection, cache, embedder, recipe, rebuild=rebuild) if wanted() else None
    else:
        # A small contribution must neither begin a change of model nor end one.
        space = vectors.serving(connection)
    if space is None or space.identity != embedder.identity:
        return 0, 0
    run = _EmbeddingRun(connection, cache, embedder, space, progress, step, wanted)
    reused = run.reuse()
    embedded = 0
    # Windows that other processes add meanwhile are embedded too, while the space is still wanted.
    while waiting := run.waiting():
        count = run.embed(waiting, at_most)
        embedded += count
        # In a damaged index a window may belong to no note: waiting for it would never end.
        if not count or at_most is not None or not (run.current and wanted()):
            break
    if not space.serving and wanted():
        with transaction(connection):
            if vectors.coming(connection) == space and not vectors.waiting(connection, space):
                vectors.take_over(connection, space)
    return embedded, reused


def restore(connection: Connection, cache: EmbeddingCache, embedder: Embedder, recipe: str) -> None:
    """Give windows the vectors that the cache has, without using the model."""
    serving = vectors.serving(connection)
    if cache.known(embedder.identity) is None:
        return
    if serving is None or serving.identity == embedder.identity:
        space = _space(connection, cache, embedder, recipe, rebuild=False)
        _EmbeddingRun(connection, cache, embedder, space, silent, 1, lambda: True).reuse()


def _space(
    connection: Connection,
    cache: EmbeddingCache,
    embedder: Embedder,
    recipe: str,
    *,
    rebuild: bool,
) -> VectorSpace:
    """The space of `embedder`, which is begun if there is none; if it answers, no other remains."""
    identity = embedder.identity
    spaces = vectors.spaces(connection)
    space = next((space for space in spaces if space.identity == identity), None)
    known = cache.known(identity)
    if known is None and (space is None or rebuild):
        known = (embedder.dimensions, calibrate(embedder))
        cache.know(identity, *known)
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

    @property
    def current(self) -> bool:
        """Whether the space still answers or is still to take over."""
        return self.space in vectors.spaces(self.connection)

    def waiting(self) -> dict[bytes, tuple[list[int], int]]:
        """By text hash: the windows that wait for its vector, and its length in tokens."""
        waiting: dict[bytes, tuple[list[int], int]] = defaultdict(lambda: ([], 0))
        for window, key, length in vectors.waiting(self.connection, self.space):
            windows, _ = waiting[key]
            windows.append(window)
            waiting[key] = (windows, length)
        return waiting

    def embed(self, waiting: dict[bytes, tuple[list[int], int]], most: int | None) -> int:
        """Embed the texts that wait, or the `most` newest of them; returns how many."""
        newest = sorted(waiting, key=lambda key: -waiting[key][0][-1])[:most]
        # Windows of like length share a batch, which pads least. The longest come first, so that
        # the remaining time is over- rather than understated.
        order = sorted(newest, key=lambda key: -waiting[key][1])
        embedded = 0
        for start in range(0, len(order), self.step):
            batch = order[start : start + self.step]
            texts = dict(_texts(self.connection, [waiting[key][0][0] for key in batch]))
            # A note that changed meanwhile took its windows with it.
            batch = [key for key in batch if waiting[key][0][0] in texts]
            rows = self.embedder.embed([texts[waiting[key][0][0]] for key in batch])
            if batch and rows.shape[1] != self.space.dimensions:
                raise Unavailable(
                    f"{self.space.identity} gives vectors of {rows.shape[1]} dimensions, before it "
                    f"were {self.space.dimensions}; set embedding.dimensions to what it gives now"
                )
            fresh = {key: row.astype("<f4").tobytes() for key, row in zip(batch, rows, strict=True)}
            self.cache.put(self.space.identity, fresh)
            self._add([(window, fresh[key]) for key in batch for window in waiting[key][0]])
            embedded += len(batch)
            if not self.wanted():
                break
            self.progress(Progress("embed", embedded, len(order)))
        return embedded

    def reuse(self) -> int:
        """Take from the cache the vectors that it has; returns how many windows got one."""
        reused = 0
        waiting = vectors.waiting(self.connection, self.space)
        for start in range(0, len(waiting), CACHED_AT_ONCE):
            batch = waiting[start : start + CACHED_AT_ONCE]
            cached = self.cache.get(self.space.identity, list({key for _, key, _ in batch}))
            known = [(window, cached[key]) for window, key, _ in batch if key in cached]
            if known:
                self._add(known)
                reused += len(known)
        return reused

    def _add(self, embedded: list[tuple[int, bytes]]) -> None:
        with transaction(self.connection):
            # Another process may have changed to another model since.
            if self.current:
                vectors.add(self.connection, self.space, embedded)


def _texts(connection: Connection, windows: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The text that is embedded for each window."""
    for window in vectors.sources(connection, windows):
        path = path_at(window.headings, window.parts, window.start)
        line = prefix(window.title, path, window.date)
        yield window.window_id, window_text(line, window.text)
