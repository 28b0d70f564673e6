"""Gives the windows of the index their vectors: from the cache where known, else by the model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

import apsw

from djinn_memory.chunking.window_text import prefix, window_text
from djinn_memory.models import Embedder, Progress, ProgressCallback, silent
from djinn_memory.store.embeddings import EmbeddingCache
from djinn_memory.store.index import vectors
from djinn_memory.store.sqlite import rows, transaction

COMMIT_WINDOWS = 128
"""Windows between two commits: a few seconds of work is what a kill may cost."""

CACHED_AT_ONCE = 2000
"""Vectors taken from the cache in one transaction: 3 MB."""


def embed(
    connection: apsw.Connection,
    cache: EmbeddingCache,
    embedder: Embedder,
    *,
    progress: ProgressCallback = silent,
    at_most: int | None = None,
    rebuild: bool = False,
) -> tuple[int, int]:
    """Fill in missing vectors; returns how many texts were embedded and how many were reused.

    A text is embedded once, whatever number of windows hold it. Vectors of another identity are
    dropped first: two are never compared. With `at_most`, only so many of the newest texts are
    embedded, the rest stay pending; with `rebuild` every window gets its vector anew. The caller
    holds the index lock.
    """
    if rebuild or vectors.space(connection) != embedder.identity:
        with transaction(connection):
            vectors.make_space(connection, embedder.identity, embedder.dimensions)
    reused = _reuse(connection, cache, embedder.identity)
    waiting = _waiting(connection)
    newest = sorted(waiting, key=lambda key: -waiting[key][0][-1])[:at_most]
    # Windows of like length share a batch, which pads least; the longest come first, so that the
    # time left is over- rather than understated.
    order = sorted(newest, key=lambda key: -waiting[key][1])
    done = 0
    for at in range(0, len(order), COMMIT_WINDOWS):
        part = order[at : at + COMMIT_WINDOWS]
        ids = [waiting[key][0][0] for key in part]
        texts = dict(_texts(connection, ids))
        made = embedder.embed([texts[key] for key in ids])
        fresh = {key: row.astype("<f4").tobytes() for key, row in zip(part, made, strict=True)}
        cache.put(embedder.identity, fresh)
        with transaction(connection):
            vectors.add(
                connection, [(window, fresh[key]) for key in part for window in waiting[key][0]]
            )
        done += len(part)
        progress(Progress("embed", done, len(order)))
    return done, reused


def _reuse(connection: apsw.Connection, cache: EmbeddingCache, identity: str) -> int:
    reused = 0
    waiting = rows(connection, "select id, hash from window where not embedded")
    for at in range(0, len(waiting), CACHED_AT_ONCE):
        part = waiting[at : at + CACHED_AT_ONCE]
        found = cache.get(identity, list({key for _, key in part}))
        if found:
            with transaction(connection):
                vectors.add(
                    connection, [(window, found[key]) for window, key in part if key in found]
                )
            reused += sum(key in found for _, key in part)
    return reused


def _waiting(connection: apsw.Connection) -> dict[bytes, tuple[list[int], int]]:
    """By text hash: the windows that wait for its vector, and its length in tokens."""
    found: dict[bytes, tuple[list[int], int]] = defaultdict(lambda: ([], 0))
    for window, key, length in connection.execute(
        "select id, hash, length from window where not embedded"
    ):
        windows, _ = found[key]
        windows.append(window)
        found[key] = (windows, length)
    return found


def _texts(connection: apsw.Connection, windows: Sequence[int]) -> Iterator[tuple[int, str]]:
    for key, start, stop, text, headings, title, date in connection.execute(
        "select window.id, start, stop, text, headings, title, iif(dated, date, null) "
        "from window join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
        "where window.id in (select value from json_each(?))",
        (json.dumps(windows),),
    ):
        line = prefix(title, tuple(json.loads(headings)), date)
        yield key, window_text(line, text[start:stop])
