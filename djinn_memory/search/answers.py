"""Answers that a long-lived process gives again, while nothing that they depend on has changed.

An answer depends on the request, the vaults that the agent sees, the index, the cache of vectors,
the notes, the settings and the time. Answers with problems, or by models of servers, are not kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from djinn_memory.models import SearchResult, Vault
from djinn_memory.notes.dates import iso_date, moment
from djinn_memory.notes.dialects.templates import settings_changed
from djinn_memory.search.backend import Index
from djinn_memory.search.query import SearchOptions
from djinn_memory.search.source import SearchSource
from djinn_memory.search.state import Search
from djinn_memory.store.sqlite import version

MOST_CHARACTERS = 4_000_000
"""Maximum size of the kept answers, as JSON. An answer of ten hits has about 15,000 characters, and
takes twice as many bytes."""

_TIMES = ("expires", "valid_from", "valid_to")
"""The fields by whose times an answer may change without a change of a note."""


class _Kept(Struct):
    """The answers from one state of a home."""

    state: tuple[object, ...]
    """The versions of the index and of the cache of vectors, that cache, and the settings."""
    answers: dict[Hashable, tuple[str, str, SearchResult]] = {}
    """By all else that they depend on, with the first time, and the time before which they hold."""
    times: dict[tuple[Vault, ...], list[str]] = {}
    """The times in the front matter of memories, by the vaults of a reader."""
    size: int = 0


_KEPT: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()
"""By the connection to the index."""


def times_in(index: Index) -> list[str]:
    """The times at which memories of an index begin or cease to hold."""
    values = (value for name in _TIMES for value in index.values(name))
    return [time for value in values if (time := iso_date(value))]


class Question:
    """A request that may have been answered before."""

    def __init__(self, search: Search, options: SearchOptions) -> None:
        self._search = search
        self._state = search.runtime.state
        self._options = msgspec.msgpack.encode(options)
        self._began = search.runtime.now()

    def known(self) -> SearchResult | None:
        """The earlier answer, if it still holds."""
        search, runtime = self._search, self._search.runtime
        if self._unchanged() is None:
            return None
        # This may change notes, as before every answer.
        search.source.prepare(search.agent)
        key = self._key(self._began)
        if key is None or runtime.problems:
            return None
        since, until, answer = self._kept().answers.get(key, ("", "", None))
        return answer if since <= moment(self._began) < until else None

    def keep(self, answer: SearchResult) -> None:
        """Keep an answer. Call it while the index is open."""
        search = self._search
        incomplete = answer.problems or answer.pending or answer.unembedded or answer.steps
        served = any(leg.embedder and not leg.embedder.local for leg in search.legs.values())
        if incomplete or served or search.time.read_notes or search.time.values:
            return
        now, kept = search.runtime.now(), self._kept()
        key = self._key(now)
        if key is None or key != self._key(self._began):
            return
        if search.vaults not in kept.times:
            kept.times[search.vaults] = times_in(search.index)
        later = [time for time in kept.times[search.vaults] if time > moment(self._began)]
        kept.size += len(msgspec.json.encode(answer))
        if kept.size > MOST_CHARACTERS:
            kept.answers.clear()
            kept.size = 0
        kept.answers[key] = moment(now), min((*later, "~")), answer

    def _unchanged(self) -> tuple[float | None, ...] | None:
        """When the vaults were scanned, if they are certainly unchanged since then."""
        search, watch = self._search, self._state.change_watch
        given = search.reranker or search.expand == "llm" or type(search.source) is not SearchSource
        return None if given or watch is None else watch.scans(search.vaults)

    def _kept(self) -> _Kept:
        connection, runtime = self._state.index, self._search.runtime
        cache = self._state.cache if runtime.models.embedder else None
        state = version(connection), cache and cache.version, cache, runtime.home.config
        kept = _KEPT.get(connection)
        if kept is None or kept.state != state:
            kept = _KEPT[connection] = _Kept(state)
        return kept

    def _key(self, now: datetime) -> Hashable | None:
        """All that an answer at this time depends on, beside the index; None if it is unknown."""
        search, scans = self._search, self._unchanged()
        if scans is None:
            return None
        asked = self._options, search.named.filters, search.vaults
        templates = (*(settings_changed(vault.root) for vault in search.vaults),)
        return *asked, scans, templates, now.astimezone().date(), now.astimezone(UTC).date()
