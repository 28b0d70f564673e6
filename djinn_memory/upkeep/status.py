"""A home at a glance."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import apsw
from msgspec import Struct

from djinn_memory.embedding.spec import to_spec
from djinn_memory.home.home import Home
from djinn_memory.home.watcher import watcher
from djinn_memory.indexing.sweep import stale
from djinn_memory.memories.catalog.catalog import CatalogStats, stats
from djinn_memory.models import Problem, Vault
from djinn_memory.store.index import vectors
from djinn_memory.store.index.sqlite_index import SqliteIndex
from djinn_memory.store.sqlite import snapshot
from djinn_memory.system.locks import is_locked

LOOK_SECONDS = 10
"""Spent at most on looking for changed notes: a person waits for this."""


class ModelChange(Struct, frozen=True):
    """Another model's vectors, on their way."""

    identity: str
    """Which model, how long its vectors are, and how texts are put to it."""
    embedded: int
    """Windows that have their vector."""
    windows: int
    """All windows."""


class HomeStatus(Struct, frozen=True):
    """How much there is, and what waits to be indexed."""

    home: Path
    """Its folder."""
    agents: tuple[str, ...]
    """The first is the default."""
    vaults: tuple[tuple[Vault, int], ...]
    """Each with the number of its notes in the index."""
    stats: CatalogStats | None
    """Counts over all vaults; null while there is no index."""
    stale: int
    """Notes that seem to have changed since they were indexed."""
    index_bytes: int
    """Size of the index on the disk."""
    cache_bytes: int
    """Size of the vectors kept beside it."""
    provider: str
    """The setting `embedding.provider` as it holds now."""
    model: str | None
    """The setting `embedding.model` as it holds now."""
    current: bool
    """Whether the vectors that answer, if there are any, are of the model of the settings."""
    indexing: bool
    """Whether another process embeds at this moment."""
    watcher: int | None
    """The process that follows the vaults, if one does; see `djinn watch`."""
    identity: str | None
    """Of the vectors that answer: model, dimensions and the like; null while there are none."""
    coming: ModelChange | None
    """Another model's vectors, which take over when they are whole."""
    problems: tuple[Problem, ...]


def status(home: Home, index: apsw.Connection | None, problems: Sequence[Problem]) -> HomeStatus:
    """The state of a home; `index` is None while there is none."""
    counted = identity = seen = coming = None
    current = True
    if index:
        with snapshot(index):
            counted = stats(SqliteIndex(index, home.vaults))
            space = vectors.serving(index)
            identity = space.identity if space else None
            wanted = home.config.embedding
            current = not space or wanted.provider == "none" or space.recipe == to_spec(wanted)
            if counted and (next_one := vectors.coming(index)):
                left = len(vectors.waiting(index, next_one))
                coming = ModelChange(next_one.identity, counted.windows - left, counted.windows)
            deadline = time.monotonic() + LOOK_SECONDS
            seen = stale(index, home.vaults, home.config.exclude, deadline)
    notes = counted.vaults if counted else {}
    return HomeStatus(
        home=home.root,
        agents=tuple(home.config.agents),
        vaults=tuple((vault, notes.get(vault.name, 0)) for vault in home.vaults),
        stats=counted,
        stale=seen.changed if seen else 0,
        index_bytes=_size(home.index_path),
        cache_bytes=_size(home.embeddings_path),
        provider=home.config.embedding.provider,
        model=home.config.embedding.model,
        current=current,
        indexing=is_locked(home.state / "embed.lock"),
        watcher=watcher(home),
        identity=identity,
        coming=coming,
        problems=(*problems, *(seen.problems if seen else ())),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
