"""Djinn: opens a home's parts when they are needed and wires them; every front end calls it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from msgspec.structs import replace

from djinn_memory import home as homes
from djinn_memory.config import cooked, named_model, recipe
from djinn_memory.errors import DjinnError, Unavailable, UsageError
from djinn_memory.files import lock
from djinn_memory.home import Home
from djinn_memory.models import (
    Embedder,
    Expand,
    Filters,
    IndexReport,
    Mode,
    Problem,
    ProgressCallback,
    SearchResult,
    Step,
    Vault,
    silent,
)

if TYPE_CHECKING:
    import apsw

    from djinn_memory.embedding.cross_encoder import CrossEncoder
    from djinn_memory.memories.catalogue import Detail, Entry, Stats
    from djinn_memory.memories.status import Status
    from djinn_memory.search.meaning import Meaning
    from djinn_memory.search.pipeline import Widen
    from djinn_memory.search.query import Query
    from djinn_memory.search.search import Reorder
    from djinn_memory.store.index.vectors import Space
    from djinn_memory.store.state import State

SWEEP_WINDOWS = 64
"""Windows embedded before answering: about a second's work; the rest waits for `djinn index`."""


P = ParamSpec("P")
T = TypeVar("T")


def _mending(verb: Callable[Concatenate[Djinn, P], T]) -> Callable[Concatenate[Djinn, P], T]:
    """Set a damaged database aside and do it again: all that is in one can be made anew."""

    @wraps(verb)
    def run(self: Djinn, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(self, *args, **kwargs)
        except _store_errors():
            if not self._state.set_aside_damaged():
                raise
        return verb(self, *args, **kwargs)

    return run


def _store_errors() -> tuple[type[Exception], ...]:
    import apsw

    from djinn_memory.store.sqlite import Broken

    return (apsw.Error, Broken)


class Djinn:
    """One home, opened. Cheap to make: files, models and databases open on first use."""

    def __init__(self, home: Home, progress: ProgressCallback = silent) -> None:
        self.home = home
        self._progress = progress

    @classmethod
    def open(cls, place: str | Path | None = None, progress: ProgressCallback = silent) -> Djinn:
        """The home at `place`, or the one that `home.discover` finds."""
        return cls(homes.discover(place), progress)

    @cached_property
    def problems(self) -> list[Problem]:
        """What went wrong beside the answers; a search and an index run report their own too."""
        return [
            Problem(str(self.home.config_path), f"not trusted with {one}; run `djinn trust`")
            for one in self.home.untrusted
        ]

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors; None when the home searches by words only."""
        from djinn_memory.embedding import embedder

        return embedder(self.home.config.embedding, self._progress)

    @cached_property
    def _reranker(self) -> CrossEncoder | None:
        from djinn_memory.embedding.cross_encoder import CrossEncoder

        name = self.home.config.search.rerank
        return CrossEncoder(name, self.home.root, self._progress) if name else None

    @cached_property
    def _state(self) -> State:
        from djinn_memory.store.state import State

        return State(self.home, self.problems)

    @property
    def _index(self) -> apsw.Connection:
        return self._state.index

    def close(self) -> None:
        """Release the files of the home; the next call opens them again."""
        self._state.close()

    @_mending
    def index(self, vaults: Sequence[str] = (), *, rebuild: bool = False) -> IndexReport:
        """Bring the index up to date with all vaults, or those named; see `indexing`.

        With `rebuild` every note is read again, whatever its times say; vectors come from the
        cache. Raises `Unavailable` when another process is indexing for longer than it takes.
        """
        from djinn_memory.indexing import indexer
        from djinn_memory.store.index import meta

        began = time.monotonic()
        chosen = self.home.named(vaults)
        self._state.need_writable()
        with self._state.lock(timeout=30):
            tally = indexer.update(
                self._index,
                chosen,
                exclude=self.home.config.exclude,
                rebuild=rebuild,
                progress=self._progress,
            )
            indexer.forget_others(self._index, self.home.vaults)
            indexer.resolve_links(self._index, self.home.vaults, self.home.config.exclude)
            if not vaults:
                meta.put(self._index, "maker", indexer.MAKER)
            embedded = reused = 0
        if self.embedder:
            with self._state.lock("embed", timeout=30):
                embedded, reused = self._embed(
                    self.embedder, recipe(self.home.config.embedding), rebuild=rebuild
                )
        if self.home.config.search.rerank:
            self._prepare_reranker()
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
            problems=(*self.problems, *tally.problems),
        )

    def use_model(self, text: str) -> None:
        """Embed by another model from now on, named as `config.named_model` reads it.

        The next `index` makes its vectors. What the user types is trusted, but not an address or a
        key that the home's settings add to it: `Refused` says so.
        """
        provider, model = named_model(text)
        changes: dict[str, str | None] = {"provider": provider, "model": model}
        changes |= dict.fromkeys(("dimensions", "query_prompt", "document_prompt"))
        if provider != self.home.config.embedding.provider:
            changes |= dict.fromkeys(("url", "key_env"))
        self.home.edit(*((("embedding", key), value) for key, value in changes.items()))
        self.__dict__.pop("embedder", None)
        for one in self.home.untrusted:
            if one.use == "embedding":
                self.home.trust_typed(one)

    @_mending
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
    ) -> SearchResult:
        """Find what answers `text` in the vaults that `agent` sees.

        Notes that changed are read first, within the limits of `search.sweep_ms` and
        `search.sweep_notes`. Whatever keeps the meaning leg from answering is a problem in the
        result, and words answer. `rerank` and `expand` say otherwise than `search.rerank` and
        `search.expand`; where they fail the answer is that without them, and a problem.
        `UsageError` when there is nothing to search for, or nothing to rerank with.
        """
        from djinn_memory.search.search import Limits, search
        from djinn_memory.store.index import memories, vectors
        from djinn_memory.store.sqlite import snapshot

        began = time.monotonic()
        settings = self.home.config.search
        query, filters = _question(text, filters or Filters())
        vaults = self.home.scope(self.home.agent(agent), filters.vaults)
        steps: list[Step] = []
        extras: list[Problem] = []
        reorder = self._reorder(rerank, steps, extras)
        expand = (expand or settings.expand) if query.asks else "none"
        if expand == "llm":
            query = self._expanded(query, steps, extras)
        mode = mode or settings.mode
        meaning = self._meaning(query) if query.asks and mode != "words" else None
        pending, problems = self._sweep(vaults, meaning)
        vector = meaning.vector(problems) if meaning else None
        if mode == "meaning" and not self.embedder:
            why = "embedding.provider is none, so only words were searched"
            problems.append(Problem("embedding", why))
        if vector is None and query.asks:
            mode = "words"
        with snapshot(self._index):
            hits, confident, spellings = search(
                self._index,
                query,
                filters,
                vaults,
                mode=mode,
                vector=vector,
                limits=Limits(limit or settings.limit, settings.per_note, settings.per_document),
                reorder=reorder,
                widen=self._widening(mode, steps) if expand == "prf" else None,
            )
            waiting = 0
            if meaning:
                waiting = vectors.pending(self._index, memories.vault_ids(self._index, vaults))
        return SearchResult(
            query=text,
            mode=mode,
            hits=hits,
            confident=confident,
            suggestions=spellings,
            problems=(*self.problems, *problems, *extras),
            pending=pending,
            unembedded=waiting,
            milliseconds=(time.monotonic() - began) * 1000,
            steps=tuple(steps),
        )

    @_mending
    def entries(
        self, filters: Filters | None = None, *, agent: str | None = None, limit: int = 50
    ) -> list[Entry]:
        """Memories in the vaults that `agent` sees, newest first."""
        from djinn_memory.memories.catalogue import entries
        from djinn_memory.store.sqlite import snapshot

        filters = filters or Filters()
        vaults = self._fresh_scope(agent, filters)
        with snapshot(self._index):
            return entries(self._index, filters, vaults, limit)

    @_mending
    def show(self, name: str, *, agent: str | None = None) -> tuple[Detail, str]:
        """A memory by id, path or title, and its text as it stands on the disk now."""
        from djinn_memory.memories.catalogue import detail, find
        from djinn_memory.notes import vault as disk
        from djinn_memory.notes.text import decode
        from djinn_memory.store.sqlite import snapshot

        vaults = self._fresh_scope(agent, Filters())
        with snapshot(self._index):
            found = detail(self._index, find(self._index, name, vaults), vaults)
        vault = next(vault for vault in vaults if vault.name == found.entry.vault)
        return found, decode(disk.read(vault, found.entry.path))[0]

    @_mending
    def find(self, name: str, *, agent: str | None = None) -> Entry:
        """The memory that `name` means, as `show` would."""
        from djinn_memory.memories.catalogue import find

        return find(self._index, name, self._fresh_scope(agent, Filters()))

    @_mending
    def delete(self, entry: Entry) -> Path:
        """Move a note to its vault's `.trash/`; returns where it lies now."""
        from djinn_memory.indexing.indexer import resolve_links
        from djinn_memory.notes import vault as disk
        from djinn_memory.store.index import memories
        from djinn_memory.store.sqlite import transaction

        vault = next(vault for vault in self.home.vaults if vault.name == entry.vault)
        with self.vault_lock(vault):
            place = disk.trash(vault, entry.path)
        # The note is gone, whether or not the index can be told now: a hit's file is looked for.
        with contextlib.suppress(Unavailable), self._state.lock(timeout=1):
            with transaction(self._index):
                memories.remove(self._index, entry.note_id)
            resolve_links(self._index, self.home.vaults, self.home.config.exclude)
        return place

    @_mending
    def stats(self, filters: Filters | None = None, *, agent: str | None = None) -> Stats:
        """Counts of what `agent` sees."""
        from djinn_memory.memories.catalogue import stats
        from djinn_memory.store.sqlite import snapshot

        filters = filters or Filters()
        vaults = self._fresh_scope(agent, filters)
        with snapshot(self._index):
            return stats(self._index, filters, vaults)

    @_mending
    def status(self) -> Status:
        """The state of the home; reads only, and makes nothing that is not there."""
        from djinn_memory.memories.status import status

        index = self._index if self.home.index_path.exists() else None
        return status(self.home, index, self.problems)

    def vault_lock(self, vault: Vault) -> contextlib.AbstractContextManager[None]:
        """Hold a vault against other writers of this home."""
        name = vault.id.replace("/", "-").replace(":", "-")
        return lock(self.home.state / "locks" / f"{name}.lock")

    def _fresh_scope(self, agent: str | None, filters: Filters) -> tuple[Vault, ...]:
        vaults = self.home.scope(self.home.agent(agent), filters.vaults)
        pending, problems = self._sweep(vaults, None)
        self.problems += problems
        if pending:
            why = f"{pending:,} changed notes are not read yet; run `djinn index`"
            self.problems.append(Problem("index", why))
        self._settle_links()
        return vaults

    def _settle_links(self) -> None:
        """Resolve links anew if a look around changed notes; a search has no need of them."""
        from djinn_memory.indexing.indexer import resolve_links
        from djinn_memory.store.index import links

        if links.settled(self._index) is None and self._state.writable:
            with contextlib.suppress(Unavailable), self._state.lock(timeout=0):
                resolve_links(self._index, self.home.vaults, self.home.config.exclude)

    def _sweep(self, vaults: Sequence[Vault], meaning: Meaning | None) -> tuple[int, list[Problem]]:
        """Read the few notes that changed; returns how many more seem to have."""
        from djinn_memory.indexing.sweep import stale

        settings = self.home.config.search
        exclude = self.home.config.exclude
        if not settings.sweep_ms:
            return 0, []
        seen = stale(self._index, vaults, exclude, time.monotonic() + settings.sweep_ms / 1000)
        if not seen.complete:
            why = f"not all folders could be looked at in {settings.sweep_ms} ms; run `djinn index`"
            seen.problems.append(Problem("index", why))
        if not (seen.changed or seen.racy) or not self._state.writable:
            return seen.changed, seen.problems
        from djinn_memory.indexing import indexer

        try:
            with self._state.lock(timeout=0):
                tally = indexer.update(
                    self._index,
                    vaults,
                    exclude=exclude,
                    deadline=time.monotonic() + 1,
                    at_most=settings.sweep_notes,
                )
                if tally.touched and meaning:
                    self._embed_new(meaning)
        except DjinnError:
            # Another process is indexing: it will find what this one saw.
            return seen.changed, seen.problems
        return tally.pending, list(dict.fromkeys([*seen.problems, *tally.problems]))

    def _expanded(self, query: Query, steps: list[Step], problems: list[Problem]) -> Query:
        from djinn_memory.search.expand import by_model

        query, step, problem = by_model(query, self.home.config.llm)
        steps.append(step)
        problems += [problem] if problem else []
        return query

    def _widening(self, mode: Mode, steps: list[Step]) -> Widen | None:
        from djinn_memory.search.prf import widening

        return widening(mode, steps)

    def _reorder(
        self, wanted: bool | None, steps: list[Step], problems: list[Problem]
    ) -> Reorder | None:
        settings = self.home.config.search
        if wanted and not settings.rerank:
            raise UsageError("search.rerank names no cross-encoder; set it to a name or a folder")
        if wanted is False or not settings.rerank:
            return None
        from djinn_memory.search.rerank import reordering

        assert self._reranker
        return reordering(self._reranker, settings.rerank_ms, steps, problems)

    def _prepare_reranker(self) -> None:
        assert self._reranker
        try:
            self._reranker.prepare()
        except Unavailable as error:
            self.problems.append(Problem("rerank", str(error)))

    def _embed_new(self, meaning: Meaning) -> None:
        """Give the few windows of a look around their vectors, where that is quick."""
        from djinn_memory.store.index import vectors

        space = vectors.serving(self._index)
        embedder = meaning.embedder
        if space and embedder and embedder.local and meaning.vector([]) is not None:
            self._embed(embedder, space.recipe, at_most=SWEEP_WINDOWS)

    def _meaning(self, query: Query) -> Meaning | None:
        """The meaning leg of a search; None when the home searches by words only."""
        from djinn_memory.search.meaning import Meaning
        from djinn_memory.store.index import vectors

        if self.embedder is None:
            return None
        space = vectors.serving(self._index)
        empty = not self._index.execute("select exists (select 1 from window)").get
        return Meaning(self._answering(self.embedder, space), space, query, empty=empty)

    def _answering(self, wanted: Embedder, space: Space | None) -> Embedder:
        """What embeds queries for `space`: another than `wanted` while a change of model lasts."""
        from djinn_memory.embedding import embedder

        ours = recipe(self.home.config.embedding)
        if (
            space is None
            or space.recipe == ours
            or (wanted.ready and wanted.identity == space.identity)
        ):
            return wanted
        before = cooked(self.home.config.embedding, space.recipe)
        made = embedder(before, self._progress) if self.home.permitted(before) else None
        return made or wanted

    def _embed(
        self,
        embedder: Embedder,
        made_by: str,
        *,
        rebuild: bool = False,
        at_most: int | None = None,
    ) -> tuple[int, int]:
        from djinn_memory.indexing.embed import COMMIT_WINDOWS, embed

        batch = self.home.config.embedding.batch
        return embed(
            self._index,
            self._state.cache,
            embedder,
            made_by,
            progress=self._progress,
            # A server may fail at any time: what it has made is kept at once.
            step=max(COMMIT_WINDOWS, batch) if embedder.local else batch,
            at_most=at_most,
            rebuild=rebuild,
        )


def _question(text: str, filters: Filters) -> tuple[Query, Filters]:
    from djinn_memory.search.query import parse

    query = parse(text)
    filters = query.narrow(filters)
    if not query.asks and replace(filters, vaults=()) == Filters() and not query.without:
        raise UsageError('nothing to search for; try djinn memory search "a question"')
    return query, filters
