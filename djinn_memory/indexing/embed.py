"""Gives the windows of the index their vectors: from the cache where known, else by the model."""

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
"""Windows between two commits: a few seconds of work is what a kill may cost."""

CACHED_AT_ONCE = 2000
"""Vectors taken from the cache in one transaction: 3 MB."""


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

    A text is embedded once, whatever number of windows hold it. Vectors of another identity go on
    answering until those of `embedder` are whole. With `at_most`, only so many of the newest texts
    are embedded, the rest stay pending, and only where the vectors of `embedder` answer; with
    `rebuild` every window gets its vector anew. What is made is kept every `step` texts, and
    `recipe` for who has to embed a query for these vectors later. It ends early when the model is
    not `wanted` any more. Other processes may change notes meanwhile; two may not embed at once,
    but with `at_most`.
    """
    space: VectorSpace | None
    if at_most is None:
        space = _space(connection, cache, embedder, recipe, rebuild=rebuild) if wanted() else None
    else:
        # Who helps a little on the way must neither begin a change of model nor end one.
        space = vectors.serving(connection)
    if space is None or space.identity != embedder.identity:
        return 0, 0
    filling = _Filling(connection, cache, embedder, space, progress, step, wanted)
    reused = _reuse(filling)
    done = 0
    # What other processes read meanwhile is made too, as long as the space is still wanted.
    while waiting := _waiting(connection, space):
        made = _make(filling, waiting, at_most)
        done += made
        # In a damaged index a window may belong to no note: it would be waited for without end.
        if not made or at_most is not None or not (_current(connection, space) and wanted()):
            break
    if not space.serving and wanted():
        with transaction(connection):
            if vectors.coming(connection) == space and not vectors.waiting(connection, space):
                vectors.take_over(connection, space)
    return done, reused


def restore(connection: Connection, cache: EmbeddingCache, embedder: Embedder, recipe: str) -> None:
    """Give windows the vectors that the cache has; nothing is asked of the model."""
    serving = vectors.serving(connection)
    if cache.known(embedder.identity) is None:
        return
    if serving is None or serving.identity == embedder.identity:
        space = _space(connection, cache, embedder, recipe, rebuild=False)
        _reuse(_Filling(connection, cache, embedder, space, silent, 1, lambda: True))


class _Filling(Struct):
    """A space being filled."""

    connection: Connection
    cache: EmbeddingCache
    embedder: Embedder
    space: VectorSpace
    progress: ProgressCallback
    step: int
    wanted: Callable[[], bool]


def _space(
    connection: Connection,
    cache: EmbeddingCache,
    embedder: Embedder,
    recipe: str,
    *,
    rebuild: bool,
) -> VectorSpace:
    """The space of `embedder`, begun if there is none; where it answers, nothing is coming."""
    identity = embedder.identity
    found = [vectors.serving(connection), vectors.coming(connection)]
    space = next((one for one in found if one and one.identity == identity), None)
    known = cache.known(identity)
    if known is None and (space is None or rebuild):
        known = (embedder.dimensions, calibrate(embedder))
        cache.know(identity, *known)
    with transaction(connection):
        for one in found:
            if one and (rebuild or (space and space.serving and one is not space)):
                vectors.drop(connection, one)
        if space is None or rebuild:
            assert known
            return vectors.begin(connection, identity, known[0], recipe, known[1])
        return vectors.keep_recipe(connection, space, recipe)


def _make(filling: _Filling, waiting: dict[bytes, tuple[list[int], int]], most: int | None) -> int:
    """Embed what waits, or the `most` newest texts of it; returns how many texts."""
    connection, space = filling.connection, filling.space
    newest = sorted(waiting, key=lambda key: -waiting[key][0][-1])[:most]
    # Windows of like length share a batch, which pads least; the longest come first, so that the
    # time left is over- rather than understated.
    order = sorted(newest, key=lambda key: -waiting[key][1])
    done = 0
    for at in range(0, len(order), filling.step):
        part = order[at : at + filling.step]
        texts = dict(_texts(connection, [waiting[key][0][0] for key in part]))
        # A note that was changed meanwhile took its windows with it.
        part = [key for key in part if waiting[key][0][0] in texts]
        made = filling.embedder.embed([texts[waiting[key][0][0]] for key in part])
        if part and made.shape[1] != space.dimensions:
            raise Unavailable(
                f"{space.identity} gives vectors of {made.shape[1]} dimensions, before it were "
                f"{space.dimensions}; set embedding.dimensions to what it gives now"
            )
        fresh = {key: row.astype("<f4").tobytes() for key, row in zip(part, made, strict=True)}
        filling.cache.put(space.identity, fresh)
        _add(connection, space, [(w, fresh[key]) for key in part for w in waiting[key][0]])
        done += len(part)
        if not filling.wanted():
            break
        filling.progress(Progress("embed", done, len(order)))
    return done


def _add(connection: Connection, space: VectorSpace, made: list[tuple[int, bytes]]) -> None:
    with transaction(connection):
        # Another process may have changed to another model since.
        if _current(connection, space):
            vectors.add(connection, space, made)


def _current(connection: Connection, space: VectorSpace) -> bool:
    return space in (vectors.serving(connection), vectors.coming(connection))


def _reuse(filling: _Filling) -> int:
    """Take from the cache what it has; returns how many windows got their vector so."""
    connection, space = filling.connection, filling.space
    reused = 0
    waiting = vectors.waiting(connection, space)
    for at in range(0, len(waiting), CACHED_AT_ONCE):
        part = waiting[at : at + CACHED_AT_ONCE]
        found = filling.cache.get(space.identity, list({key for _, key, _ in part}))
        known = [(window, found[key]) for window, key, _ in part if key in found]
        if known:
            _add(connection, space, known)
            reused += len(known)
    return reused


def _waiting(connection: Connection, space: VectorSpace) -> dict[bytes, tuple[list[int], int]]:
    """By text hash: the windows that wait for its vector, and its length in tokens."""
    found: dict[bytes, tuple[list[int], int]] = defaultdict(lambda: ([], 0))
    for window, key, length in vectors.waiting(connection, space):
        windows, _ = found[key]
        windows.append(window)
        found[key] = (windows, length)
    return found


def _texts(connection: Connection, windows: Sequence[int]) -> Iterator[tuple[int, str]]:
    """What is embedded of each window."""
    for window in vectors.sources(connection, windows):
        path = path_at(window.headings, window.parts, window.start)
        line = prefix(window.title, path, window.date)
        yield window.window_id, window_text(line, window.text)
