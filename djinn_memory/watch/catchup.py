"""The steps of a watch, each short enough to be interrupted, and when to repeat one that failed.

They bring the index up to date, and keep the Postgres server inside a home running for the commands
beside the watch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.indexing import indexer
from djinn_memory.indexing.embed import embed
from djinn_memory.indexing.indexer import IndexTally
from djinn_memory.models import Progress, Vault
from djinn_memory.store.index import links, meta, vectors
from djinn_memory.store.postgres.embedded import EmbeddedServer
from djinn_memory.store.postgres.servers import configured_url, embedded_folder
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


def finish(state: State) -> None:
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
                state, embedder, models.recipe, step=STEP, at_most=most, wanted=lambda: not urgent()
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


FIRST_SECONDS, LONGEST_SECONDS = 0.5, 60.0
"""The pause before another attempt: after the first failure, and the maximum."""


class Backoff:
    """The time at which a step may be retried."""

    def __init__(self) -> None:
        self._pause = FIRST_SECONDS
        self._until = 0.0

    def left(self, now: float) -> float:
        """Seconds until the next attempt is allowed."""
        return max(0.0, self._until - now)

    def worked(self) -> None:
        """Record a success."""
        self._pause, self._until = FIRST_SECONDS, 0.0

    def busy(self, now: float) -> None:
        """Record that another process is working on the step and will end soon."""
        self._until = now + FIRST_SECONDS

    def failed(self, now: float) -> None:
        """Record a failure. Each pause is twice as long as the previous one."""
        self._until = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_SECONDS)


class KeptServer:
    """The embedded server that a home uses, its own or that of another home, if it uses one."""

    def __init__(self) -> None:
        self._server: EmbeddedServer | None = None

    def keep(self, home: Home) -> None:
        """Start the server unless it runs, and release one that the home uses no more.

        Raises `NotFound` or `Unavailable` if it cannot be started.
        """
        url = configured_url(home)
        folder = embedded_folder(home, url) if url else None
        if self._server and (folder is None or self._server.folder != folder.resolve()):
            self.release()
        if folder and not self._server:
            self._server = EmbeddedServer(folder)
        if self._server:
            try:
                self._server.start()
            except Refused as error:
                # A watch ends when it is refused, and nothing else of it needs the server.
                raise Unavailable(error.message, *error.remedies) from None

    def release(self) -> None:
        """Stop the server unless another process uses it."""
        if self._server:
            self._server.release()
            self._server = None
