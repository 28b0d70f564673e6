"""Djinn: opens a home's parts when they are needed and wires them; every front end calls it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory import home as homes
from djinn_memory.errors import DjinnError, IndexMissing, Unavailable, UsageError
from djinn_memory.files import lock
from djinn_memory.home import Home
from djinn_memory.models import (
    Embedder,
    Filters,
    IndexReport,
    Mode,
    Problem,
    ProgressCallback,
    SearchResult,
    Vault,
    silent,
)

if TYPE_CHECKING:
    import apsw

    from djinn_memory.memories.catalogue import Detail, Entry, Stats
    from djinn_memory.models import Vectors
    from djinn_memory.store.embeddings import EmbeddingCache

SWEEP_WINDOWS = 64
"""Windows embedded before answering: about a second's work; the rest waits for `djinn index`."""


class Status(Struct, frozen=True):
    """A home at a glance."""

    home: Path
    agents: tuple[str, ...]
    vaults: tuple[tuple[Vault, int], ...]
    """Each with the number of its notes in the index."""
    stats: Stats | None
    """None while there is no index."""
    stale: int
    """Notes that seem to have changed since they were indexed."""
    index_bytes: int
    cache_bytes: int
    provider: str
    identity: str | None
    """Of the vectors in the index."""
    problems: tuple[Problem, ...]


class Djinn:
    """One home, opened. Cheap to make: files, models and databases open on first use."""

    def __init__(self, home: Home, progress: ProgressCallback = silent) -> None:
        self.home = home
        self._progress = progress
        self._problems: list[Problem] = []

    @classmethod
    def open(cls, place: str | Path | None = None, progress: ProgressCallback = silent) -> Djinn:
        """The home at `place`, or the one that `home.discover` finds."""
        return cls(homes.discover(place), progress)

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors; None when the home searches by words only."""
        from djinn_memory.embedding import embedder

        return embedder(self.home.config.embedding, self._progress)

    @cached_property
    def _cache(self) -> EmbeddingCache:
        from djinn_memory.store.embeddings import EmbeddingCache

        return EmbeddingCache(self.home.embeddings_path)

    @cached_property
    def _index(self) -> apsw.Connection:
        """The index, writable where the disk lets it be, made when there is none."""
        from djinn_memory.store.index import open_index
        from djinn_memory.store.sqlite import Broken

        path = self.home.index_path
        try:
            return open_index(path)
        except Broken:
            aside = path.with_name(f"{path.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}")
            path.rename(aside)
            self._problems.append(
                Problem(str(path), f"was damaged; set aside as {aside.name}, run `djinn index`")
            )
            return open_index(path)
        except (Unavailable, OSError):
            if not path.exists():
                raise IndexMissing(
                    f"there is no index at {path} and none can be written; "
                    "check the folder's permissions, or set state_dir in config.yaml"
                ) from None
            return open_index(path, write=False)

    @property
    def _writable(self) -> bool:
        return not self._index.readonly("main")

    def index(self, vaults: Sequence[str] = (), *, rebuild: bool = False) -> IndexReport:
        """Bring the index up to date with all vaults, or those named; see `indexing`.

        With `rebuild` every note is read again, whatever its times say; vectors come from the
        cache. Raises `Unavailable` when another process is indexing for longer than it takes.
        """
        from djinn_memory.indexing import indexer
        from djinn_memory.store.index import meta

        began = time.monotonic()
        chosen = self._named(vaults)
        self._need_writable()
        with self._index_lock(timeout=30):
            tally = indexer.update(
                self._index,
                chosen,
                exclude=self.home.config.exclude,
                rebuild=rebuild,
                progress=self._progress,
            )
            forgotten = indexer.forget_others(self._index, self.home.vaults)
            if tally.touched or forgotten:
                indexer.resolve_links(self._index, self.home.vaults, self.home.config.exclude)
            if not vaults:
                meta.put(self._index, "maker", indexer.MAKER)
            embedded = reused = 0
            if self.embedder:
                embedded, reused = self._embed(rebuild=rebuild)
        windows = self._index.execute("select count(*) from window").get
        return IndexReport(
            notes=tally.notes,
            read=tally.read,
            added=tally.added,
            changed=tally.changed,
            removed=tally.removed,
            moved=tally.moved,
            windows=windows,
            embedded=embedded,
            reused=reused,
            seconds=time.monotonic() - began,
            problems=(*self._problems, *tally.problems),
        )

    def search(
        self,
        text: str,
        filters: Filters | None = None,
        *,
        agent: str | None = None,
        mode: Mode | None = None,
        limit: int | None = None,
    ) -> SearchResult:
        """Find what answers `text` in the vaults that `agent` sees.

        Notes that changed are read first, within the limits of `search.sweep_ms` and
        `search.sweep_notes`. Whatever keeps the meaning leg from answering is a problem in the
        result, and words answer. `UsageError` when there is nothing to search for.
        """
        from djinn_memory.search.query import parse
        from djinn_memory.search.search import Limits, search

        began = time.monotonic()
        settings = self.home.config.search
        filters = filters or Filters()
        vaults = self.home.scope(self.home.agent(agent), filters.vaults)
        query = parse(text)
        filters = query.narrow(filters)
        if not query.text and replace(filters, vaults=()) == Filters() and not query.without:
            raise UsageError('nothing to search for; try djinn memory search "a question"')
        mode = mode or settings.mode
        if self.embedder is None:
            mode = "words"
        ahead = _Ahead(self.embedder, query.text) if mode != "words" and query.text else None
        pending, problems = self._sweep(vaults, ahead)
        vector = self._vector(ahead, problems) if ahead else None
        hits, confident, spellings = search(
            self._index,
            query,
            filters,
            vaults,
            mode=mode if vector is not None or not query.text else "words",
            vector=vector,
            limits=Limits(limit or settings.limit, settings.per_note, settings.per_document),
        )
        waiting = 0
        if mode != "words":
            waiting = self._index.execute("select count(*) from window where not embedded").get
        return SearchResult(
            query=text,
            mode=mode,
            hits=hits,
            confident=confident,
            suggestions=spellings,
            problems=(*self._problems, *problems),
            pending=pending,
            unembedded=waiting,
            milliseconds=(time.monotonic() - began) * 1000,
        )

    def entries(
        self, filters: Filters | None = None, *, agent: str | None = None, limit: int = 50
    ) -> list[Entry]:
        """Memories in the vaults that `agent` sees, newest first."""
        from djinn_memory.memories.catalogue import entries

        filters = filters or Filters()
        vaults = self._fresh_scope(agent, filters)
        return entries(self._index, filters, vaults, limit)

    def show(self, name: str, *, agent: str | None = None) -> tuple[Detail, str]:
        """A memory by id, path or title, and its text as it stands on the disk now."""
        from djinn_memory.memories.catalogue import detail, find
        from djinn_memory.notes import vault as disk
        from djinn_memory.notes.text import decode

        vaults = self._fresh_scope(agent, Filters())
        found = detail(self._index, find(self._index, name, vaults), vaults)
        vault = next(vault for vault in vaults if vault.name == found.entry.vault)
        return found, decode(disk.read(vault, found.entry.path))[0]

    def find(self, name: str, *, agent: str | None = None) -> Entry:
        """The memory that `name` means, as `show` would."""
        from djinn_memory.memories.catalogue import find

        return find(self._index, name, self._fresh_scope(agent, Filters()))

    def delete(self, entry: Entry) -> Path:
        """Move a note to its vault's `.trash/`; returns where it lies now."""
        from djinn_memory.indexing.indexer import resolve_links
        from djinn_memory.notes import vault as disk
        from djinn_memory.store.index import memories
        from djinn_memory.store.sqlite import transaction

        self._need_writable()
        vault = next(vault for vault in self.home.vaults if vault.name == entry.vault)
        with self.vault_lock(vault):
            place = disk.trash(vault, entry.path)
        with self._index_lock(timeout=10):
            with transaction(self._index):
                memories.remove(self._index, entry.note_id)
            resolve_links(self._index, self.home.vaults, self.home.config.exclude)
        return place

    def stats(self, filters: Filters | None = None, *, agent: str | None = None) -> Stats:
        """Counts of what `agent` sees."""
        from djinn_memory.memories.catalogue import stats

        filters = filters or Filters()
        return stats(self._index, filters, self._fresh_scope(agent, filters))

    def status(self) -> Status:
        """The state of the home; reads only, and makes nothing that is not there."""
        from djinn_memory.indexing.sweep import stale
        from djinn_memory.memories.catalogue import stats
        from djinn_memory.store.index import vectors

        counted, identity, waiting = None, None, 0
        problems: list[Problem] = []
        if self.home.index_path.exists():
            counted = stats(self._index, Filters(), self.home.vaults)
            identity = vectors.space(self._index)
            waiting, problems = stale(
                self._index, self.home.vaults, self.home.config.exclude, time.monotonic() + 10
            )
        notes = counted.vaults if counted else {}
        return Status(
            home=self.home.root,
            agents=tuple(self.home.config.agents),
            vaults=tuple((vault, notes.get(vault.name, 0)) for vault in self.home.vaults),
            stats=counted,
            stale=waiting,
            index_bytes=_size(self.home.index_path),
            cache_bytes=_size(self.home.embeddings_path),
            provider=self.home.config.embedding.provider,
            identity=identity,
            problems=(*self._problems, *problems),
        )

    def vault_lock(self, vault: Vault) -> contextlib.AbstractContextManager[None]:
        """Hold a vault against other writers of this home."""
        name = vault.id.replace("/", "-").replace(":", "-")
        return lock(self.home.state / "locks" / f"{name}.lock")

    def _index_lock(self, timeout: float) -> contextlib.AbstractContextManager[None]:
        return lock(self.home.state / "index.lock", timeout=timeout)

    def _need_writable(self) -> None:
        if not self._writable:
            raise Unavailable(
                f"{self.home.state} cannot be written; check its permissions, "
                "or set state_dir in config.yaml"
            )

    def _named(self, names: Sequence[str]) -> list[Vault]:
        by_name = {vault.name: vault for vault in self.home.vaults}
        for name in names:
            if name not in by_name:
                raise homes.unknown_vault(name, list(by_name))
        return [by_name[name] for name in dict.fromkeys(names)] if names else list(by_name.values())

    def _fresh_scope(self, agent: str | None, filters: Filters) -> tuple[Vault, ...]:
        vaults = self.home.scope(self.home.agent(agent), filters.vaults)
        self._sweep(vaults, None)
        return vaults

    def _sweep(self, vaults: Sequence[Vault], ahead: _Ahead | None) -> tuple[int, list[Problem]]:
        """Read the few notes that changed; returns how many more seem to have."""
        from djinn_memory.indexing.sweep import stale

        settings = self.home.config.search
        exclude = self.home.config.exclude
        if not settings.sweep_ms:
            return 0, []
        deadline = time.monotonic() + settings.sweep_ms / 1000
        count, problems = stale(self._index, vaults, exclude, deadline)
        if not count or not self._writable:
            return count, problems
        from djinn_memory.indexing import indexer

        try:
            with self._index_lock(timeout=0):
                tally = indexer.update(
                    self._index,
                    vaults,
                    exclude=exclude,
                    deadline=time.monotonic() + 1,
                    at_most=settings.sweep_notes,
                )
                if tally.touched:
                    indexer.resolve_links(self._index, self.home.vaults, exclude)
                if ahead and ahead.ready and self._same_space():
                    ahead.result()
                    self._embed(at_most=SWEEP_WINDOWS)
        except DjinnError:
            # Another process is indexing: it will find what this one saw.
            return count, problems
        return tally.pending, [*problems, *tally.problems]

    def _same_space(self) -> bool:
        from djinn_memory.store.index import vectors

        assert self.embedder
        return vectors.space(self._index) in (None, self.embedder.identity)

    def _embed(self, *, rebuild: bool = False, at_most: int | None = None) -> tuple[int, int]:
        from djinn_memory.indexing.embed import embed

        assert self.embedder
        return embed(
            self._index,
            self._cache,
            self.embedder,
            progress=self._progress,
            at_most=at_most,
            rebuild=rebuild,
        )

    def _vector(self, ahead: _Ahead, problems: list[Problem]) -> Vectors | None:
        """The query's vector if it can be compared with the index's, else the reason why not."""
        from djinn_memory.store.index import vectors

        assert self.embedder
        remedy = "; run `djinn index`, until then only words are searched"
        space = vectors.space(self._index)
        if not ahead.ready:
            problems.append(Problem("embedding", f"the model is not prepared yet{remedy}"))
        elif space is None:
            if self._index.execute("select exists (select 1 from window)").get:
                problems.append(Problem("embedding", f"nothing is embedded yet{remedy}"))
        elif space != self.embedder.identity:
            problems.append(
                Problem(
                    "embedding",
                    f"the index was embedded with {space}, "
                    f"the config says {self.embedder.identity}{remedy}",
                )
            )
        else:
            try:
                return ahead.result()
            except DjinnError as error:
                problems.append(Problem("embedding", f"{error}; only words were searched"))
        return None


class _Ahead:
    """Embeds a query on a thread of its own while the index is opened and the vaults looked at."""

    def __init__(self, embedder: Embedder | None, text: str) -> None:
        assert embedder
        self.ready = embedder.ready
        self._outcome: Any = None
        # Not a pool: importing one costs more than the one thread that is needed.
        self._thread = threading.Thread(target=self._run, args=(embedder, text), daemon=True)
        if self.ready:
            self._thread.start()

    def _run(self, embedder: Embedder, text: str) -> None:
        try:
            self._outcome = embedder.embed([text])[0]
        except BaseException as error:
            self._outcome = error

    def result(self) -> Vectors:
        """The vector, waited for; raises what embedding raised."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        vector: Vectors = self._outcome
        return vector


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
