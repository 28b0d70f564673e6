"""Keeps a home's index as its vaults are: whole on demand, a little before each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import Busy, DjinnError, Unavailable
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
"""Windows embedded before answering: about a second's work; the rest waits for `djinn index`."""

HASTE_SECONDS = 0.2
"""A question waits no longer for who writes the index."""

TAKE_IN_SECONDS = 10.0
"""A long reading of notes by another process is not waited for: the note is safe on the disk."""

THOROUGH_SECONDS = 1.0
"""For a look that need not be taken again until something happens."""

GLANCE_SECONDS = 0.2
"""Who finds a lock taken for so long finds one at work, not one who only looked whether it is."""

Spare = Callable[[], Embedder | None]
"""Gives what embeds for the vectors that answer, if a few texts more are no matter."""


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
    """Bring the index up to date with `vaults`, which are all of the home when it is `whole`.

    Words first, then meaning, then the reranker if the settings name one. Where another process
    embeds, this waits and does what is left, or, unless it `waits`, leaves its own texts to it.
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
            why = "another model was chosen meanwhile; run `djinn index` to go on with that"
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
    """Make an index that was set aside anew: words, and meaning as far as the cache knows it."""
    _read(state, state.home.vaults, whole=True, rebuild=False, progress=progress)
    # Whatever is wrong with the model is told by who asks it.
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
    """Let the index know the notes of `vaults` as they are: by words, their vectors come later.

    Waits for others as `State.lock` does.
    """
    from djinn_memory.indexing.indexer import update

    with state.lock(timeout=timeout, progress=progress):
        update(state.index, vaults, exclude=state.home.config.exclude, progress=progress)


def sweep(
    state: State, vaults: Sequence[Vault], spare: Spare | None = None
) -> tuple[int, list[Problem]]:
    """Read the few notes that changed; returns how many more seem to have, and what is wrong.

    Their windows get vectors where `spare` gives what makes them.
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
        why = f"not all folders could be looked at in {settings.sweep_ms} ms; run `djinn index`"
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
        # Another process is indexing: it will find what this one saw.
        return seen.changed, seen.problems
    except DjinnError as error:
        return seen.changed, [*seen.problems, Problem("index", str(error))]
    return tally.pending, list(dict.fromkeys([*seen.problems, *tally.problems]))


def index_notes(state: State, models: ModelRegistry, vault: Vault, paths: Sequence[str]) -> bool:
    """Let notes of a vault that were just written be found by words at once, by meaning if told so.

    Meaning needs a model on this machine. `Busy` where another process reads notes for long: it
    or the next question reads these.
    """
    from djinn_memory.indexing.indexer import update

    with state.lock(timeout=TAKE_IN_SECONDS):
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
    """Let notes whose files are gone be found no more; at once, where the index can be told now."""
    from djinn_memory.indexing.indexer import resolve_links

    # Whether or not it can: a hit's file is looked for.
    with suppress(Unavailable), state.lock(timeout=1):
        with transaction(state.index):
            for path in paths:
                memories.forget(state.index, vault, path)
        resolve_links(state.index, state.home.vaults, state.home.config.exclude)


def resolve_pending_links(state: State) -> None:
    """Resolve links anew if a sweep changed notes; a search has no need of them."""
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
    """Embed until nothing waits after others could embed again.

    Who does not wait leaves what it has read to the holder of the lock, who may just have looked
    for the last time: so that one looks once more.
    """
    recipe = models.recipe
    embedded = reused = 0
    while True:
        try:
            patience = None if waits else GLANCE_SECONDS
            with state.lock("embed", timeout=patience, progress=progress):
                made, known = _embed(
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
        embedded, reused, rebuild = embedded + made, reused + known, False
        spaces = (vectors.serving(state.index), vectors.coming(state.index))
        space = next((one for one in spaces if one and one.identity == embedder.identity), None)
        if not (space and vectors.waiting(state.index, space) and models.wanted(recipe)):
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
        # A server may fail at any time: what it has made is kept at once.
        step=max(COMMIT_WINDOWS, batch) if embedder.local else batch,
        at_most=at_most,
        rebuild=rebuild,
        wanted=wanted,
    )
