"""Brings the index up to date in steps that are short enough to be interrupted."""

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
"""Number of texts embedded between two checks for urgent work: a third of a second."""

FIRST = 64
"""Number of newest texts that are embedded before all others."""

LOCK_SECONDS = 1.0

Urgent = Callable[[], bool]


class CatchupInterrupted(Exception):
    """More urgent work interrupted the run."""


def read(state: State, vault: Vault, paths: Sequence[str] | None, urgent: Urgent) -> IndexTally:
    """Index the notes that changed at `paths` of a vault, or with None in all of it.

    Raises `Busy` when another process holds the index for a second, and `CatchupInterrupted` when
    there is `urgent` work. Notes that were already read stay in the index.
    """

    def go_on(_: Progress) -> None:
        if urgent():
            raise CatchupInterrupted

    with state.lock(timeout=LOCK_SECONDS):
        return indexer.update(state, [vault], only=paths, progress=go_on)


def conclude(state: State) -> None:
    """Record that this version of djinn has read every note. Remove vaults that no longer exist."""
    with state.lock(timeout=LOCK_SECONDS):
        indexer.forget_others(state)
        meta.put(state.index, "maker", indexer.MAKER)


def embed_some(state: State, models: ModelRegistry, urgent: Urgent) -> int:
    """Embed windows without a vector, newest first, until there is `urgent` work.

    Returns how many texts were embedded. Raises `Busy` while another process embeds, because it
    will embed these too, and `Unavailable` when the model cannot be used.
    """
    embedder = models.embedder
    if embedder is None or not vectors.lacking(state.index):
        return 0
    done = 0
    with state.lock("embed", timeout=0):
        for most in (FIRST, None):
            done += embed(
                state,
                embedder,
                models.recipe,
                step=STEP,
                at_most=most,
                wanted=lambda: not urgent(),
            )[0]
    return done


def warm(models: ModelRegistry) -> None:
    """Load the model if it is local, so that the first edit does not wait for it."""
    if models.embedder and models.embedder.local:
        models.embedder.embed(["djinn"])


def settle(state: State, *, anew: bool) -> None:
    """Resolve links if a note has changed since the last time; with `again` in any case.

    Attachments may change without a change of a note. Raises `Busy` while another process reads
    notes.
    """
    if anew or links.settled(state.index) is None:
        with state.lock(timeout=0):
            indexer.resolve_links(state)
