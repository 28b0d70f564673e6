"""Keeps the index of a home up to date: in full on demand, in part before each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import Busy, DjinnError, Remedy, Unavailable
from djinn_memory.home.watcher import watcher
from djinn_memory.indexing.sweep import stale
from djinn_memory.models import (
    IndexReport,
    Problem,
    Progress,
    ProgressCallback,
    Vault,
    silent,
)
from djinn_memory.store.index import links, memories, meta, vectors
from djinn_memory.store.sqlite import hasty, transaction
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.indexing.indexer import IndexTally

SWEEP_WINDOWS = 64
"""Windows embedded before an answer: a second of work. The rest waits for `djinn index`."""

HASTE_SECONDS = 0.2
"""How long a question waits for another writer of the index."""

WRITTEN_SECONDS = 10.0
"""How long a note that was just written waits for another writer. It is safe on the disk."""

THOROUGH_SECONDS = 1.0
"""The time limit of a scan that holds until the change watch reports something."""

GLANCE_SECONDS = 0.2
"""A lock held for longer belongs to a process that is really working; status probes are shorter."""

Spare = Callable[[], Embedder | None]
"""Gives the embedder of the vectors that answer, if it is quick enough to embed a few texts."""


def index(
    state: State,
    models: ModelRegistry,
    vaults: Sequence[Vault],
    *,
    whole: bool,
    rebuild: bool,
    progress: ProgressCallback,
    waits: bool = True,
) -> IndexReport:
    """Bring the index up to date with `vaults`, which are all vaults of the home if it is `whole`.

    Words come first, then meaning, then the reranker if the settings name one. If another process
    embeds, this waits and embeds what is left; without `waits` it leaves its texts to the other.
    """
    began = time.monotonic()
    state.need_writable()
    tally = _read(state, vaults, whole=whole, rebuild=rebuild, progress=progress)
    problems = list(tally.problems)
    embedded = reused = 0
    if models.embedder:
        recipe = models.recipe
        embedded, reused = _embed_all(
            state, models, models.embedder, progress=progress, rebuild=rebuild, waits=waits
        )
        if not models.wanted(recipe):
            remedy = Remedy("index", purpose="goes on with that")
            why = f"another model was chosen meanwhile; {remedy}"
            problems.append(Problem("embedding", why))
    if models.reranker:
        try:
            models.reranker.prepare()
        except Unavailable as error:
            problems.append(Problem("rerank", str(error)))
    return IndexReport(
        notes=tally.notes,
        read=tally.read,
        added=tally.added,
        changed=tally.changed,
        removed=tally.removed,
        moved=tally.moved,
        windows=vectors.count(state.index),
        embedded=embedded,
        reused=reused,
        seconds=time.monotonic() - began,
        problems=(*state.problems, *problems),
    )


def rebuild_index(state: State, models: ModelRegistry, progress: ProgressCallback) -> None:
    """Build an index again that was set aside: words, and the vectors that the cache holds."""
    _read(state, state.home.vaults, whole=True, rebuild=False, progress=progress)
    # A search that asks the model reports what is wrong with it.
    with suppress(DjinnError):
        embedder = models.embedder
        if embedder and embedder.ready:
            from djinn_memory.indexing.embed import restore

            with state.lock("embed", timeout=30):
                restore(state.index, state.cache, embedder, models.recipe)
    progress(Progress("prepare", 1, 1, "index ready"))


def read(
    state: State,
    vaults: Sequence[Vault],
    *,
    timeout: float | None = None,
    progress: ProgressCallback = silent,
) -> None:
    """Read the notes of `vaults` into the index: words now, vectors later.

    Waits for other processes as `State.lock` does.
    """
    from djinn_memory.indexing.indexer import update

    with state.lock(timeout=timeout, progress=progress):
        update(state.index, vaults, exclude=state.home.config.exclude, progress=progress)


def sweep(
    state: State, vaults: Sequence[Vault], spare: Spare | None = None
) -> tuple[int, list[Problem]]:
    """Read the few notes that changed; returns how many changed notes are left, and the problems.

    Their windows get vectors if `spare` gives an embedder.
    """
    settings, exclude = state.home.config.search, state.home.config.exclude
    if not settings.sweep_ms:
        return 0, []
    if state.change_watch and state.change_watch.unchanged(vaults):
        return 0, []
    seconds = settings.sweep_ms / 1000
    if state.change_watch:
        state.change_watch.listen(vaults)
        seconds = max(seconds, THOROUGH_SECONDS)
    seen = stale(state.index, vaults, exclude, time.monotonic() + seconds)
    if state.change_watch and seen.complete and not (seen.changed or seen.racy or seen.problems):
        state.change_watch.mark_scanned(vaults)
    if not seen.complete and watcher(state.home) is None:
        why = f"not all folders could be looked at in {settings.sweep_ms} ms; {Remedy('index')}"
        seen.problems.append(Problem("index", why))
    if not (seen.changed or seen.racy) or not state.writable:
        return seen.changed, seen.problems
    from djinn_memory.indexing import indexer

    try:
        with state.lock(timeout=0), hasty(state.index, HASTE_SECONDS):
            tally = indexer.update(
                state.index,
                vaults,
                exclude=exclude,
                deadline=time.monotonic() + 1,
                at_most=settings.sweep_notes,
            )
            space = vectors.serving(state.index) if tally.touched and spare else None
            embedder = spare() if space and spare else None
            if space and embedder:
                _embed(state, embedder, space.recipe, at_most=SWEEP_WINDOWS)
    except Busy:
        # Another process is indexing: it reads what was seen here.
        return seen.changed, seen.problems
    except DjinnError as error:
        return seen.changed, [*seen.problems, Problem("index", str(error))]
    return tally.pending, list(dict.fromkeys([*seen.problems, *tally.problems]))


def index_notes(state: State, models: ModelRegistry, vault: Vault, paths: Sequence[str]) -> bool:
    """Make notes that were just written searchable by words; returns whether by meaning too.

    Meaning needs a model on this machine. Raises `Busy` if another process writes the index for
    long: that process or the next question reads the notes.
    """
    from djinn_memory.indexing.indexer import update

    with state.lock(timeout=WRITTEN_SECONDS):
        update(state.index, [vault], exclude=state.home.config.exclude, only=paths)
    embedder = models.embedder
    if embedder is None or not embedder.local:
        return False
    space = vectors.serving(state.index)
    if space is None:
        if vectors.count(state.index) > SWEEP_WINDOWS:
            return False
        with suppress(Busy), state.lock("embed", timeout=GLANCE_SECONDS):
            _embed(state, embedder, models.recipe)
    elif embedder.ready and space.identity == embedder.identity:
        _embed(state, embedder, space.recipe, at_most=SWEEP_WINDOWS)
    return not vectors.pending_in(state.index, vault, paths)


def remove_notes(state: State, vault: Vault, paths: Sequence[str]) -> None:
    """Remove notes from the index whose files are gone."""
    from djinn_memory.indexing.indexer import resolve_links

    # A locked index does no harm: a search leaves out a hit without a file.
    with suppress(Unavailable), state.lock(timeout=1):
        with transaction(state.index):
            for path in paths:
                memories.forget(state.index, vault, path)
        resolve_links(state.index, state.home.vaults, state.home.config.exclude)


def resolve_pending_links(state: State) -> None:
    """Resolve links if a sweep changed notes. A search does not need them."""
    from djinn_memory.indexing.indexer import resolve_links

    if links.settled(state.index) is None and state.writable:
        with (
            suppress(Unavailable),
            state.lock(timeout=0),
            hasty(state.index, HASTE_SECONDS),
        ):
            resolve_links(state.index, state.home.vaults, state.home.config.exclude)


def _read(
    state: State,
    vaults: Sequence[Vault],
    *,
    whole: bool,
    rebuild: bool,
    progress: ProgressCallback,
) -> IndexTally:
    from djinn_memory.indexing import indexer

    home, connection = state.home, state.index
    with state.lock(progress=progress):
        tally = indexer.update(
            connection, vaults, exclude=home.config.exclude, rebuild=rebuild, progress=progress
        )
        indexer.forget_others(connection, home.vaults)
        indexer.resolve_links(connection, home.vaults, home.config.exclude)
        if whole:
            meta.put(connection, "maker", indexer.MAKER)
    return tally


def _embed_all(
    state: State,
    models: ModelRegistry,
    embedder: Embedder,
    *,
    progress: ProgressCallback,
    rebuild: bool,
    waits: bool,
) -> tuple[int, int]:
    """Embed until no window waits after the lock was released.

    A process that does not wait leaves its windows to the holder of the lock. That one may just
    have looked for the last time, so it looks again after it has released the lock.
    """
    recipe = models.recipe
    embedded = reused = 0
    while True:
        try:
            patience = None if waits else GLANCE_SECONDS
            with state.lock("embed", timeout=patience, progress=progress):
                new, cached = _embed(
                    state,
                    embedder,
                    recipe,
                    progress=progress,
                    rebuild=rebuild,
                    wanted=lambda: models.wanted(recipe),
                )
        except Busy:
            if waits:
                raise
            return embedded, reused
        embedded, reused, rebuild = embedded + new, reused + cached, False
        waiting = any(
            vectors.waiting(state.index, space)
            for space in vectors.spaces(state.index)
            if space.identity == embedder.identity
        )
        if not (waiting and models.wanted(recipe)):
            return embedded, reused


def _embed(
    state: State,
    embedder: Embedder,
    recipe: str,
    *,
    progress: ProgressCallback = silent,
    rebuild: bool = False,
    at_most: int | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[int, int]:
    from djinn_memory.indexing.embed import COMMIT_WINDOWS, embed

    batch = state.home.config.embedding.batch
    return embed(
        state.index,
        state.cache,
        embedder,
        recipe,
        progress=progress,
        # A server may fail at any time, so every batch is committed.
        step=max(COMMIT_WINDOWS, batch) if embedder.local else batch,
        at_most=at_most,
        rebuild=rebuild,
        wanted=wanted,
    )
