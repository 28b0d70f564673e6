"""Reports the state of a home."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.embedding.registry import to_spec
from djinn_memory.home.watcher import watcher
from djinn_memory.indexing.scan import stale
from djinn_memory.models import Problem
from djinn_memory.store.index import compartments, vectors
from djinn_memory.store.index.records import CatalogStats
from djinn_memory.store.state import State
from djinn_memory.system.locks import is_locked
from djinn_memory.upkeep.requests import CountedVault

LOOK_SECONDS = 10
"""Maximum seconds for the scan for changed notes, because a person is waiting."""


class ModelChange(Struct, frozen=True):
    """The progress of computing another model's vectors."""

    identity: str
    """The identity of the model: its name, its dimensions and its prompts."""
    embedded: int
    """The number of windows that already have its vector."""
    windows: int
    """The number of all windows."""


class HomeStatus(Struct, frozen=True):
    """The content of a home, and the number of pending changes."""

    home: Path
    """The folder of the home."""
    agents: tuple[str, ...]
    """The agents; the first is the default. For an agent, only that agent."""
    vaults: tuple[CountedVault, ...]
    """All vaults, or those that the agent sees."""
    stats: CatalogStats | None
    """Counts over these vaults; null while there is no index."""
    stale: int
    """The number of notes that seem to have changed since they were indexed."""
    index_bytes: int | None
    """The size of the index on the disk; null for an agent."""
    cache_bytes: int | None
    """The size of the cached vectors; null for an agent."""
    provider: str
    """The setting `embedding.provider` in effect."""
    model: str | None
    """The setting `embedding.model` in effect."""
    current: bool
    """Whether the vectors in use, if any, come from the configured model."""
    indexing: bool
    """Whether another process is embedding."""
    watcher: int | None
    """The id of the process that watches the vaults, if any; see `djinn watch`."""
    identity: str | None
    """The identity of the vectors in use, such as their model; null while there are none."""
    coming: ModelChange | None
    """The vectors of another model, which will replace those in use when they are complete."""
    problems: tuple[Problem, ...]


def status(state: State, problems: Sequence[Problem], agent: str | None) -> HomeStatus:
    """The state of a home, or with `agent` the part that this agent may know.

    Without an index, all fields from the index are null.
    """
    home = state.home
    vaults = home.visible(agent)
    limited = any(vault.reader for vault in vaults)
    counted = identity = stale_notes = change = None
    current = True
    if home.index_path.exists():
        with state.reading(vaults) as index:
            counted = index.counts()
            space = index.vectors.space
            identity = space.identity if space else None
            wanted = home.config.embedding
            current = not space or wanted.provider == "none" or space.recipe == to_spec(wanted)
            coming = vectors.coming(state.index)
            if coming and space:
                numbers = compartments.numbers(state.index, vaults)
                left = vectors.pending(state.index, numbers, coming)
                change = ModelChange(coming.identity, counted.windows - left, counted.windows)
            deadline = time.monotonic() + LOOK_SECONDS
            stale_notes = stale(state.index, vaults, home.config.exclude, deadline)
    notes = counted.vaults if counted else {}
    return HomeStatus(
        home=home.root,
        agents=tuple(home.config.agents if agent is None else [agent]),
        vaults=tuple(
            CountedVault.of(vault, vaults, notes=notes.get(vault.name, 0)) for vault in vaults
        ),
        stats=counted,
        # Which of them a limited agent may see is known when they are read.
        stale=stale_notes.changed if stale_notes and not limited else 0,
        index_bytes=_size(home.index_path) if agent is None else None,
        cache_bytes=_size(home.embeddings_path) if agent is None else None,
        provider=home.config.embedding.provider,
        model=home.config.embedding.model,
        current=current,
        indexing=is_locked(home.state / "embed.lock"),
        watcher=watcher(home),
        identity=identity,
        coming=change,
        problems=(*problems, *(stale_notes.problems if stale_notes else ())),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
