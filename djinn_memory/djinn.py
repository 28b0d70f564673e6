"""Djinn: one object with everything that a home can do; every front end calls it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from djinn_memory.agent_verbs import AgentVerbs
from djinn_memory.errors import Changed, DjinnError
from djinn_memory.home.home import Home, discover
from djinn_memory.models import (
    Expand,
    Filters,
    IndexReport,
    Mode,
    Problem,
    ProgressCallback,
    SearchResult,
    Vault,
    silent,
)
from djinn_memory.runtime import Runtime, utc_now
from djinn_memory.store.recovery import recovers, recovers_index, store_errors

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.memories.catalog.catalog import CatalogStats, Known, MemoryDetail, MemoryEntry
    from djinn_memory.memories.library.verbs import Documents
    from djinn_memory.upkeep.doctor import Diagnosis
    from djinn_memory.upkeep.maintain import MaintenanceReport
    from djinn_memory.upkeep.purge import PurgeReport
    from djinn_memory.upkeep.status import HomeStatus
    from djinn_memory.watch.heard import Heard, Tell


class Djinn(AgentVerbs):
    """One home and everything that can be done with it.

    Use it as a context manager, or call `close` when done.
    """

    def __init__(
        self,
        home: Home,
        progress: ProgressCallback = silent,
        *,
        resident: bool = False,
        read_only: bool = False,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """See `Runtime` for the flags; `clock` returns the current time in UTC."""
        super().__init__(
            Runtime(home, progress, resident=resident, read_only=read_only, clock=clock)
        )

    def __enter__(self) -> Djinn:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def home(self) -> Home:
        """The home that is open."""
        return self.runtime.home

    @property
    def models(self) -> ModelRegistry:
        """The embedder and the reranker of the home."""
        return self.runtime.models

    @property
    def problems(self) -> list[Problem]:
        """Problems found beside the answers. Search and index results carry their own as well."""
        return self.runtime.problems

    def close(self) -> None:
        """Release the files of the home; the next call opens them again."""
        self.runtime.close()

    @classmethod
    def open(cls, place: str | Path | None = None, progress: ProgressCallback = silent) -> Djinn:
        """The home at `place`, or the one that `home.discover` finds."""
        return cls(discover(place), progress)

    @cached_property
    def documents(self) -> Documents:
        """Files that became notes."""
        from djinn_memory.memories.library.verbs import Documents

        return Documents(self.runtime)

    @recovers_index
    def index(self, vaults: Sequence[str] = (), *, rebuild: bool = False) -> IndexReport:
        """Bring the index up to date with all vaults, or those named; see `indexing`.

        With `rebuild` every note is read again, whatever its times say; vectors come from the
        cache. Raises `Unavailable` when another process is indexing for longer than it takes.
        """
        from djinn_memory.indexing.refresh import index

        return index(
            self._state,
            self._models,
            self.home.named(vaults),
            whole=not vaults,
            rebuild=rebuild,
            progress=self.runtime.progress,
        )

    def watch(self, vaults: Sequence[str], tell: Tell, heard: Heard) -> None:
        """Follow all vaults, or those named, until `heard` says `Stop`; see `watch.follow`."""
        from djinn_memory.watch.follow import follow

        follow(self.home, vaults, tell, heard)

    def use_model(self, text: str) -> None:
        """Embed by another model from now on; the next `index` makes its vectors.

        See `embedding.choice.Models.use`.
        """
        self._models.use(text)

    @recovers
    def search(
        self,
        text: str,
        filters: Filters | None = None,
        *,
        agent: str | None = None,
        mode: Mode | None = None,
        limit: int | None = None,
        rerank: bool | None = None,
        expand: Expand | None = None,
        expired: bool = False,
    ) -> SearchResult:
        """Find what answers `text` in the vaults that `agent` sees.

        Notes that changed are read first, within the limits of `search.sweep_ms` and
        `search.sweep_notes`. Whatever keeps the meaning leg from answering is a problem in the
        result, and words answer. `rerank` and `expand` say otherwise than `search.rerank` and
        `search.expand`; where they fail the answer is that without them, and a problem.
        What has expired answers only if asked for.
        `UsageError` when there is nothing to search for, or nothing to rerank with.
        """
        from djinn_memory.search.ask import SearchOptions, ask

        how = SearchOptions(mode, limit, rerank, expand, expired=expired)
        chosen = self.home.agent(agent)
        return ask(self._state, self._models, text, filters or Filters(), chosen, how)

    @recovers
    def entries(
        self,
        filters: Filters | None = None,
        *,
        agent: str | None = None,
        limit: int = 50,
        skip: int = 0,
        expired: bool = False,
    ) -> list[MemoryEntry]:
        """Memories in the vaults that `agent` sees, newest first, without the `skip` newest.

        Those that have expired are among them only if asked for.
        """
        from datetime import UTC, datetime

        from djinn_memory.memories.catalog.catalog import entries
        from djinn_memory.search.filters import valid
        from djinn_memory.store.sqlite import snapshot

        filters = filters or Filters()
        vaults = self._scope(agent, filters)
        with snapshot(self.runtime.connection):
            if not expired:
                filters = valid(self.runtime.connection, filters, datetime.now(UTC))
            return entries(self.runtime.connection, filters, vaults, limit, skip)

    @recovers
    def show(self, name: str, *, agent: str | None = None) -> tuple[MemoryDetail, str]:
        """A memory by id, path or title, and its text as it stands on the disk now.

        That is a use of it, as far as the ledger can be written.
        """
        from djinn_memory.memories.catalog.catalog import detail, find
        from djinn_memory.memories.recall.rating import opened
        from djinn_memory.notes.encoding import decode
        from djinn_memory.notes.vault import files as disk
        from djinn_memory.store.sqlite import snapshot

        vaults = self._scope(agent, Filters())
        with snapshot(self.runtime.connection):
            found = detail(
                self.runtime.connection, find(self.runtime.connection, name, vaults), vaults
            )
        vault = next(vault for vault in vaults if vault.name == found.entry.vault)
        text = decode(disk.read(vault, found.entry.path))[0]
        self.problems.extend(opened(self._state, found.entry, self.home.agent(agent)))
        return found, text

    @recovers
    def neighbours(self, name: str, *, agent: str | None = None) -> MemoryDetail:
        """The memory that `name` means, with its links both ways; it does not count as read."""
        from djinn_memory.memories.catalog.catalog import detail, find
        from djinn_memory.store.sqlite import snapshot

        vaults = self._scope(agent, Filters())
        with snapshot(self.runtime.connection):
            return detail(
                self.runtime.connection, find(self.runtime.connection, name, vaults), vaults
            )

    @recovers
    def find(self, name: str, *, agent: str | None = None) -> MemoryEntry:
        """The memory that `name` means, as `show` would."""
        from msgspec.structs import replace

        from djinn_memory.memories.catalog.catalog import find

        found = find(self.runtime.connection, name, self._scope(agent, Filters()))
        return replace(found, digest=self._digest(found))

    @recovers
    def delete(self, entry: MemoryEntry) -> Path:
        """Move a note to its vault's `.trash/`, with its versions; returns where it lies now.

        Raises `Changed` when it is not what it was when `find` found it.
        """
        from djinn_memory.indexing.refresh import remove_notes
        from djinn_memory.memories.writing.versions import versions
        from djinn_memory.notes.vault import files as disk

        vault = next(vault for vault in self.home.vaults if vault.name == entry.vault)
        with self._state.vault_lock(vault):
            if entry.digest and self._digest(entry) not in (entry.digest, b""):
                raise Changed(vault.root / entry.path)
            before = [one for one in versions(vault, entry.path) if not disk.trashed(one)]
            place = self._trash(vault, entry)
            for path in before:
                disk.trash(vault, path)
        remove_notes(self._state, vault, [entry.path, *before])
        return place

    @recovers
    def purge(
        self,
        name: str,
        *,
        agent: str | None = None,
        dry_run: bool = False,
        seen: PurgeReport | None = None,
    ) -> PurgeReport:
        """Remove a memory for good, with its versions, copies, vectors and what the ledger quotes.

        `name` may mean one in the trash. With `dry_run` only say what would go; given that answer
        as `seen`, `Refused` where something else would go by now.
        """
        from djinn_memory.upkeep.purge import purge

        vaults = self._scope(agent, Filters())
        return purge(self._state, vaults, name, dry_run=dry_run, seen=seen)

    def _trash(self, vault: Vault, entry: MemoryEntry) -> Path:
        from djinn_memory.notes.vault import files as disk

        if entry.plane == "documents":
            from djinn_memory.memories.library.catalog import stored_documents, trash_document

            # With its original and its earlier versions.
            for document in stored_documents(self._state, [vault]):
                if document.path == entry.path:
                    return trash_document(document)[0]
        return disk.trash(vault, entry.path)

    def _digest(self, entry: MemoryEntry) -> bytes:
        """Of a note's bytes; empty where they cannot be read."""
        import hashlib

        from djinn_memory.notes.vault import files as disk

        [vault] = self.home.named((entry.vault,))
        try:
            return hashlib.blake2b(disk.read(vault, entry.path), digest_size=16).digest()
        except (OSError, DjinnError):
            return b""

    @recovers
    def stats(self, filters: Filters | None = None, *, agent: str | None = None) -> CatalogStats:
        """Counts of what `agent` sees."""
        from djinn_memory.memories.catalog.catalog import stats
        from djinn_memory.store.sqlite import snapshot

        filters = filters or Filters()
        vaults = self._scope(agent, filters)
        with snapshot(self.runtime.connection):
            return stats(self.runtime.connection, filters, vaults)

    @recovers
    def status(self) -> HomeStatus:
        """The state of the home; reads only, and makes nothing that is not there."""
        from djinn_memory.upkeep.status import status

        index = self.runtime.connection if self.home.index_path.exists() else None
        return status(self.home, index, self.problems)

    @recovers
    def maintain(self, only: Sequence[str] = (), *, dry_run: bool = False) -> MaintenanceReport:
        """Do what a home wants done now and then, or only the tasks named.

        `promote` makes notes of short-term entries that were used often, `expire` marks memories
        whose time is over. With `dry_run` this tells
        what would be done, and does nothing.
        """
        from djinn_memory.upkeep.maintain import maintain

        return maintain(self._state, self._models, only, dry_run=dry_run)

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """Look at everything the home needs; with `fix` mend what is safe. See `upkeep.doctor`."""
        from djinn_memory.upkeep.doctor import examine

        return examine(self.home, fix=fix, progress=self.runtime.progress)

    def known(self, what: Known, *, agent: str | None = None) -> list[str]:
        """The tags, types, titles or the like that `agent` sees in the index as it stands.

        For completion: quick, and makes nothing. Empty where there is no index to read.
        """
        from djinn_memory.memories.catalog.catalog import known
        from djinn_memory.store.sqlite import peek

        vaults = self.home.scope(self.home.agent(agent))
        try:
            with contextlib.closing(peek(self.home.index_path)) as connection:
                return known(connection, what, vaults)
        except store_errors():
            return []
