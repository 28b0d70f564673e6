"""Brings the index up with what changed, in pieces small enough to be broken off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.indexing import indexer
from djinn_memory.indexing.embed import embed
from djinn_memory.indexing.indexer import IndexTally
from djinn_memory.models import Progress, Vault
from djinn_memory.store.index import links, meta, vectors
from djinn_memory.store.state import State

STEP = 32
"""Texts embedded between two looks whether something is urgent: a third of a second's work."""

FIRST = 64
"""The newest texts, which are embedded before all that waits."""

LOCK_SECONDS = 1.0

Urgent = Callable[[], bool]


class CatchupInterrupted(Exception):
    """There is something more urgent."""


def read(state: State, vault: Vault, paths: Sequence[str] | None, urgent: Urgent) -> IndexTally:
    """Read what changed at `paths` of a vault, or in all of it.

    `Busy` when another process holds the index for a second. `CatchupInterrupted` when something is
    `urgent`; what is read by then stays read.
    """

    def go_on(_: Progress) -> None:
        if urgent():
            raise CatchupInterrupted

    exclude = state.home.config.exclude
    with state.lock(timeout=LOCK_SECONDS):
        return indexer.update(state.index, [vault], exclude=exclude, only=paths, progress=go_on)


def conclude(state: State) -> None:
    """Say that this version of djinn has read every note, and forget vaults that are no more."""
    with state.lock(timeout=LOCK_SECONDS):
        indexer.forget_others(state.index, state.home.vaults)
        meta.put(state.index, "maker", indexer.MAKER)


def embed_some(state: State, models: ModelRegistry, urgent: Urgent) -> int:
    """Give windows their vectors, the newest first, until nothing waits or something is `urgent`.

    Returns how many texts were embedded. `Busy` while another process embeds, which will do these
    too; `Unavailable` when the model cannot be had.
    """
    embedder = models.embedder
    if embedder is None or not vectors.lacking(state.index):
        return 0
    done = 0
    with state.lock("embed", timeout=0):
        for most in (FIRST, None):
            done += embed(
                state.index,
                state.cache,
                embedder,
                models.recipe,
                step=STEP,
                at_most=most,
                wanted=lambda: not urgent(),
            )[0]
    return done


def warm(models: ModelRegistry) -> None:
    """Load the model if it is on this machine: the first edit is not to wait for that."""
    if models.embedder and models.embedder.local:
        models.embedder.embed(["djinn"])


def settle(state: State, *, anew: bool) -> None:
    """Resolve links if a note changed since, or an attachment where that is asked `anew`.

    `Busy` while another process reads notes.
    """
    if anew or links.settled(state.index) is None:
        with state.lock(timeout=0):
            indexer.resolve_links(state.index, state.home.vaults, state.home.config.exclude)
