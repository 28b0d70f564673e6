"""What is kept between two searches is of the current revision, and has a limit."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest

from djinn_memory.store.postgres.index import scopes
from djinn_memory.store.postgres.index.postings import TermMatches
from djinn_memory.store.postgres.index.scopes import ScopeCache, ScopeCaches

SCOPE, OTHER = UUID(int=1), UUID(int=2)
MATCHES = TermMatches(np.arange(10, dtype="<i8"), np.ones(10))
SIZE = 160


def test_a_scope_is_kept_for_a_revision_and_a_reader() -> None:
    caches = ScopeCaches()
    first = caches.at(SCOPE, "me", (1, "mark"))
    assert caches.at(SCOPE, "me", (1, "mark")) is first
    assert caches.at(SCOPE, "guest", (1, "mark")) is not first
    assert caches.at(OTHER, "me", (1, "mark")) is not first
    assert caches.at(SCOPE, "me", (1, "mark of a restored server")) is not first
    assert caches.at(SCOPE, "me", (1, "mark")) is not first


def test_the_oldest_lists_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "MOST_BYTES", 2 * SIZE)
    scope = ScopeCache()
    for term in ("ebb", "flood", "tide"):
        scope.keep((term, False), MATCHES)
    assert [scope.matches((term, False)) for term in ("ebb", "flood", "tide")] == [
        None, MATCHES, MATCHES,
    ]  # fmt: skip
    assert scope.bytes == 2 * SIZE


def test_the_oldest_scopes_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "MOST_BYTES", SIZE)
    caches = ScopeCaches()
    for scope in (SCOPE, OTHER):
        caches.at(scope, "me", 1).keep(("tide", False), MATCHES)
    assert caches.at(OTHER, "me", 1).matches(("tide", False)) is MATCHES
    assert caches.at(SCOPE, "me", 1).matches(("tide", False)) is None
