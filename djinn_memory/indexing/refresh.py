"""Keeps the index of a home up to date: completely on demand, partly before each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Literal

from msgspec.structs import asdict

from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import Busy, DjinnError, Remedy, Unavailable
from djinn_memory.home.watcher import watcher
from djinn_memory.indexing.scan import stale
from djinn_memory.models import IndexReport, Problem, Progress, ProgressCallback, Vault, silent
from djinn_memory.store.busy import within
from djinn_memory.store.index import compartments, links, memories, meta, vectors
from djinn_memory.store.sqlite import DamagedDatabase, explained, transaction
from djinn_memory.store.state import State
from djinn_memory.system.locks import is_locked

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.indexing.indexer import IndexTally

SWEEP_WINDOWS, SWEEP_SECONDS, SWEEP_STEP = 64, 0.3, 8
"""Maximum windows embedded before an answer, the seconds after which no more are begun, and how
many are embedded at once. The rest waits for the next answer, `djinn index` or `djinn watch`."""

HASTE_SECONDS = 0.2
"""Seconds that a question waits for another writer of the index."""

WRITTEN_SECONDS = 0.5
"""Seconds that a note waits for another writer after it was written. It is already safe on the
disk."""

SCANNED = "scanned"
"""The key under which the index stores the time of the last complete scan."""

SCAN_HOLDS_SECONDS = 600.0
"""Seconds after that time during which incomplete quick scans are not reported."""

TOLD_SECONDS = 86_400.0
"""Minimum seconds between two such reports."""

THOROUGH_SECONDS = 1.0
"""The time limit in seconds of a scan that stays valid until the change watch reports an event."""

SWEEP = "index"
"""Names the problem that a sweep could not read all changed notes."""

Searchable = Literal["words and meaning", "words", "later"]
"""How searches find a note: by `words` alone until a process with a loaded model embeds it, and
`later` while it waits to be read."""

Spare = Callable[[], Embedder | None]
"""Returns the embedder of the vectors in use, if it is fast enough to embed a few texts."""


def index(
    state: State,
    models: ModelRegistry,
    vaults: Sequence[Vault],
    *,
    whole: bool,
    rebuild: bool,
    progress: ProgressCallback,
    waits: bool = True,
    scoped: bool = False,
) -> IndexReport:
    """Update the index from `vaults`. `whole` is whether these are all vaults of the home.

    With `scoped` the report covers only these vaults. Texts with vectors from the cache then count
    as embedded, because the cache may have them from other vaults.

    Words come first, then vectors, then the reranker if it is configured. If another process is
    embedding, this waits and embeds the rest; without `waits` it leaves its texts to the other
    process.
    """
    began = time.monotonic()
    state.need_writable()
    limited = any(vault.reader for vault in vaults)
    before = memories.visible_notes(state.index, vaults) if limited else {}
    tally = _read(state, vaults, whole=whole, rebuild=rebuild, progress=progress)
    if limited:
        _limit(tally, before, memories.visible_notes(state.index, vaults))
    problems = list(tally.problems)
    embedded = reused = 0
    readable = compartments.numbers(state.index, vaults)
    waiting = vectors.pending(state.index, readable) if scoped else 0
    if models.embedder:
        from djinn_memory.indexing.embed import embed_all

        recipe = models.recipe
        embedded, reused = embed_all(
            state,
            models.embedder,
            recipe,
            progress=silent if scoped else progress,
            rebuild=rebuild,
            waits=waits,
            wanted=lambda: models.wanted(recipe),
        )
        if not models.wanted(recipe):
            remedy = Remedy("index", purpose="continue with the new model")
            why = f"another process chose a different model; {remedy}"
            problems.append(Problem("embedding", why))
    if models.reranker:
        try:
            models.reranker.prepare()
        except Unavailable as error:
            problems.append(Problem("rerank", str(error)))
    counts = asdict(tally)
    del counts["pending"], counts["problems"]
    if scoped:
        embedded, reused = max(0, waiting - vectors.pending(state.index, readable)), 0
    return IndexReport(
        **counts,
        windows=vectors.count(state.index, readable if scoped else None),
        embedded=embedded,
        reused=reused,
        seconds=time.monotonic() - began,
        problems=(*state.problems, *problems),
    )


def _limit(tally: IndexTally, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
    """Let a tally count only the notes that a limited agent may see, before and after the run."""
    tally.notes = len(after)
    tally.added, tally.removed = len(after.keys() - before), len(before.keys() - after)
    tally.changed = sum(after[name] != before[name] for name in after.keys() & before)
    tally.moved, tally.read = 0, tally.added + tally.changed


def rebuild_index(state: State, models: ModelRegistry, progress: ProgressCallback) -> None:
    """Rebuild an index that was set aside, with words and the vectors in the cache."""
    _read(state, state.home.vaults, whole=True, rebuild=False, progress=progress)
    # A search that asks the model reports its errors.
    with suppress(DjinnError):
        embedder = models.embedder
        if embedder and embedder.ready:
            from djinn_memory.indexing.embed import restore

            with state.lock("embed", timeout=30):
                restore(state, embedder, models.recipe)
    progress(Progress("prepare", 1, 1, "index ready"))


def read(
    state: State,
    vaults: Sequence[Vault],
    *,
    timeout: float | None = None,
    progress: ProgressCallback = silent,
) -> list[Problem]:
    """Index the words of the notes of `vaults` now. Vectors follow later. Returns the problems.

    Waits for other processes as `State.lock` does.
    """
    from djinn_memory.indexing.indexer import update

    patience = nullcontext() if timeout is None else within(timeout)
    with patience, state.lock(timeout=timeout):
        return update(state, vaults, progress=progress).problems


def sweep(
    state: State, vaults: Sequence[Vault], spare: Spare | None = None
) -> tuple[int, list[Problem]]:
    """Read changed notes if they are few. Returns how many are left, and the problems.

    Their windows get vectors if `spare` returns an embedder. For a limited agent none are left: it
    may not see some of them, and which ones is known when they are read.
    """
    left, problems = _sweep(state, vaults, spare)
    if any(vault.reader for vault in vaults):
        return 0, [problem for problem in problems if problem != _incomplete()]
    return left, problems


def _sweep(state: State, vaults: Sequence[Vault], spare: Spare | None) -> tuple[int, list[Problem]]:
    settings, exclude = state.home.config.search, state.home.config.exclude
    if not settings.sweep_ms:
        return 0, []
    waiting = False
    with suppress(Busy), within(HASTE_SECONDS), explained(state.home.index_path):
        waiting = spare is not None and _waits(state, vaults)
    if state.change_watch and state.change_watch.unchanged(vaults) and not waiting:
        return 0, []
    seconds = settings.sweep_ms / 1000
    if state.change_watch:
        state.change_watch.listen(vaults)
        seconds = max(seconds, THOROUGH_SECONDS)
    try:
        with within(HASTE_SECONDS), explained(state.home.index_path):
            seen = stale(state.index, vaults, exclude, time.monotonic() + seconds)
    except Busy:
        return 0, []
    if state.change_watch and seen.complete and not (seen.changed or seen.racy or seen.problems):
        state.change_watch.mark_scanned(vaults)
    if not seen.complete and watcher(state.home) is None and _worth_telling(state):
        seen.problems.append(_incomplete())
    changed = seen.changed or seen.racy
    if not (changed or waiting) or not state.writable:
        return seen.changed, seen.problems
    from djinn_memory.indexing import indexer

    try:
        with state.lock(timeout=0), within(HASTE_SECONDS):
            tally, deadline = indexer.IndexTally(), time.monotonic() + 1
            if changed:
                most = settings.sweep_notes
                tally = indexer.update(
                    state, vaults, deadline=deadline, at_most=most, listings=seen.listings
                )
            if spare and (tally.touched or waiting) and (embedder := spare()):
                _embed_few(state, vaults, embedder)
    except Busy:
        # Another process is indexing: it reads the changes that were seen here.
        return seen.changed, seen.problems
    except DamagedDatabase:
        raise
    except DjinnError as error:
        failure = Problem(str(state.home.index_path), str(error))
        return seen.changed, [*seen.problems, failure]
    return tally.pending, list(dict.fromkeys([*seen.problems, *tally.problems]))


def embed_waiting(state: State, vaults: Sequence[Vault], spare: Spare) -> None:
    """Embed windows that wait for a vector, as `sweep` does, before an answer by meaning."""
    with suppress(Busy, Unavailable), within(HASTE_SECONDS), explained(state.home.index_path):
        if state.writable and _waits(state, vaults) and (embedder := spare()):
            with state.lock(timeout=0):
                _embed_few(state, vaults, embedder)


def _waits(state: State, vaults: Sequence[Vault]) -> bool:
    """Whether windows wait for a vector. Many are left to a process that embeds all of them."""
    waiting = vectors.pending(state.index, compartments.numbers(state.index, vaults))
    return 0 < waiting <= SWEEP_WINDOWS or (
        waiting > 0 and not is_locked(state.home.state / "embed.lock")
    )


def _embed_few(state: State, vaults: Sequence[Vault], embedder: Embedder) -> None:
    """Embed the newest windows of `vaults` that wait, for `SWEEP_SECONDS`."""
    from djinn_memory.embedding.registry import to_spec
    from djinn_memory.indexing.embed import embed

    space = vectors.serving(state.index)
    deadline = time.monotonic() + SWEEP_SECONDS
    with suppress(Busy), nullcontext() if space else state.lock("embed", timeout=HASTE_SECONDS):
        embed(
            state,
            embedder,
            space.recipe if space else to_spec(state.home.config.embedding),
            step=SWEEP_STEP,
            at_most=SWEEP_WINDOWS,
            only=compartments.numbers(state.index, vaults),
            wanted=lambda: time.monotonic() < deadline,
        )


def _incomplete() -> Problem:
    remedy = Remedy("watch", purpose="keep the index up to date")
    why = f"recent changes may be missing because the vaults have too many notes to check; {remedy}"
    return Problem(SWEEP, why)


def _worth_telling(state: State) -> bool:
    """Whether to report an incomplete scan: at most daily, and not soon after a complete one."""
    now = time.time()
    with suppress(ValueError):  # a cloned index may hold anything
        if 0 <= now - float(meta.get(state.index, SCANNED) or 0) < SCAN_HOLDS_SECONDS:
            return False
    stamp = state.home.state / "incomplete-scan"
    try:
        if now - stamp.stat().st_mtime < TOLD_SECONDS:
            return False
    except OSError:
        pass
    # Where no file can be written, it is said again.
    with suppress(OSError):
        stamp.touch(mode=0o600)
    return True


def index_notes(
    state: State, models: ModelRegistry, vault: Vault, paths: Sequence[str]
) -> Searchable:
    """Make new notes searchable. Returns how searches find them.

    A process that has loaded the model embeds them. Otherwise the next question does, because
    loading takes longer than writing. When another process holds the index, that process or the
    next question reads the notes. A question also repairs a damaged index.
    """
    from djinn_memory.indexing.indexer import update

    searchable: Searchable = "later"
    try:
        with within(WRITTEN_SECONDS), explained(state.home.index_path):
            with state.lock(timeout=WRITTEN_SECONDS):
                update(state, [vault], only=paths)
            searchable = "words"
            # Searches, and `index`, say why a model cannot be used.
            with suppress(Unavailable):
                if embedder := models.loaded:
                    _embed_few(state, [vault], embedder)
            if not vectors.pending_in(state.index, vault, paths):
                searchable = "words and meaning"
    except (Busy, DamagedDatabase):
        pass
    except DjinnError:
        raise
    except Exception:
        # Rows of a damaged index that do not fit together, which the next question meets again.
        return "later"
    return searchable


def remove_notes(state: State, vault: Vault, paths: Sequence[str]) -> None:
    """Remove notes from the index after their files were removed."""
    from djinn_memory.indexing.indexer import resolve_links

    # A locked index does no harm: a search leaves out a hit without a file.
    with suppress(Unavailable), within(WRITTEN_SECONDS), state.lock(timeout=WRITTEN_SECONDS):
        with transaction(state.index):
            memories.forget(state.index, vault, paths)
        resolve_links(state)


def resolve_pending_links(state: State) -> None:
    """Resolve links if a sweep changed notes. Searches do not need them."""
    from djinn_memory.indexing.indexer import resolve_links

    try:
        with within(HASTE_SECONDS), explained(state.home.index_path):
            if links.settled(state.index) is None and state.writable:
                with state.lock(timeout=0):
                    resolve_links(state)
    except DamagedDatabase:
        raise
    except Unavailable:
        return


def _read(
    state: State, vaults: Sequence[Vault], *, whole: bool, rebuild: bool, progress: ProgressCallback
) -> IndexTally:
    from djinn_memory.indexing import indexer

    with state.lock():
        tally = indexer.update(state, vaults, rebuild=rebuild, progress=progress)
        indexer.forget_others(state)
        indexer.resolve_links(state)
        if whole:
            with transaction(state.index):
                vectors.mend(state.index)
                meta.put(state.index, "maker", indexer.MAKER)
            meta.put(state.index, SCANNED, str(time.time()))
    return tally
