"""Where a search finds its index, and the notes that it cites: this home, or its server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from djinn_memory.errors import NotFound, Refused, Remedy, Unavailable
from djinn_memory.home import access
from djinn_memory.indexing.refresh import sweep
from djinn_memory.models import Problem, SearchStep, Vault
from djinn_memory.notes import vault as disk

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.runtime import Runtime
    from djinn_memory.search.backend import Index
    from djinn_memory.store.index.vectors import VectorSpace
    from djinn_memory.store.postgres.index.postgres_index import PostgresIndex

Spare = Callable[[], "Embedder | None"]


class SearchSource:
    """The index and the files of this home."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def vaults(self, agent: str, only: Sequence[str]) -> tuple[Vault, ...]:
        """The vaults that an agent sees, or those of them in `only`."""
        return self._runtime.home.scope(agent, only)

    def prepare(self, agent: str | None) -> None:
        """Complete what others began to write, before the notes are compared with the index."""
        self._runtime.take_in(agent)
        self._runtime.recover_changes()

    def refresh(
        self, agent: str | None, vaults: Sequence[Vault], spare: Spare | None
    ) -> tuple[int, Sequence[Problem]]:
        """Bring the index up to date, within limits.

        Returns how many changed files are left, and the problems.
        """
        self.prepare(agent)
        return sweep(self._runtime.state, vaults, spare)

    def space(self, vaults: Sequence[Vault]) -> VectorSpace | None:
        """The vectors of some vaults, before the index is opened, which may have others."""
        with self._runtime.index(vaults) as index:
            return index.vectors.space

    def index(self, vaults: Sequence[Vault]) -> AbstractContextManager[Index]:
        """A context with a consistent snapshot of the index of some vaults."""
        return self._runtime.index(vaults)

    def exists(self, vault: Vault, path: str) -> bool:
        """Whether a note of the index still exists."""
        return disk.on_disk(vault, path)

    def read(self, vault: Vault, path: str) -> bytes:
        """The bytes of a note. Call it while the index is open."""
        return disk.read(vault, path)

    def steps(self) -> Sequence[SearchStep]:
        """The steps of the source for `--explain`. Call it while the index is open."""
        return ()


class _ServerSource(SearchSource):
    """The index and the notes on the home's Postgres server, whose files need not be here."""

    _index: PostgresIndex

    def vaults(self, agent: str, only: Sequence[str]) -> tuple[Vault, ...]:
        """See `SearchSource`. With `sync.read_all` all that the server shows, also of others."""
        home = self._runtime.home
        if not access.reads_all(agent, home.config.sync.read_all):
            return home.scope(agent, only)
        with _suggesting_this_home():
            others = self._runtime.server_indexes.other_vaults()
        return home.server_scope(agent, others, only)

    def refresh(
        self, agent: str | None, vaults: Sequence[Vault], spare: Spare | None
    ) -> tuple[int, Sequence[Problem]]:
        """Nothing is read: the homes have pushed the contents of the server."""
        return 0, ()

    def space(self, vaults: Sequence[Vault]) -> VectorSpace | None:
        """See `SearchSource`."""
        with _suggesting_this_home():
            recipe = self._runtime.models.recipe
            return self._runtime.server_indexes.space(vaults, recipe)

    @contextmanager
    def index(self, vaults: Sequence[Vault]) -> Iterator[Index]:
        """See `SearchSource`."""
        with _suggesting_this_home(), self._runtime.server_index(vaults) as self._index:
            yield self._index

    def exists(self, vault: Vault, path: str) -> bool:
        """Every note of the index is in the same snapshot of the server."""
        return True

    def read(self, vault: Vault, path: str) -> bytes:
        """See `SearchSource`."""
        content = self._index.content(vault.name, path)
        if content is None:
            raise NotFound(f"the server has no note {vault.name}:{path}")
        return content

    def steps(self) -> Sequence[SearchStep]:
        """The plan of the server. A process that answers many questions never shows it."""
        if self._runtime.state.change_watch is not None:
            return ()
        began = time.perf_counter()
        used = self._index.plan()
        return [SearchStep("index", used, (time.perf_counter() - began) * 1000)]


@contextmanager
def _suggesting_this_home() -> Iterator[None]:
    """Add to errors of the server that a search needs none."""
    try:
        yield
    except (Unavailable, Refused) as error:
        local = Remedy(arguments={"backend": "sqlite"}, purpose="search this home")
        if local not in error.remedies:
            error.remedies = (*error.remedies, local)
        raise


def source_of(runtime: Runtime, backend: str | None) -> SearchSource:
    """Where a search reads: `postgres` is the home's server, everything else this home."""
    return _ServerSource(runtime) if backend == "postgres" else SearchSource(runtime)
