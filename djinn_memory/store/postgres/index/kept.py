"""What a process keeps of a server between two searches, while its vaults do not change.

A scope is kept for its last revision. The random mark of the revision tells it from one with the
same number on a server that was restored from a backup.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from djinn_memory.store.postgres.index.postings import TermMatches

MOST_BYTES = 64 * 2**20
"""Memory for posting lists. A list takes 16 bytes for each chunk with the term."""

_MOST_SCOPES = 64
"""Scopes that are kept, each as its reader sees it."""


class KeptScope:
    """What is known of one revision of a scope, as one reader sees it. Numbers are the scope's."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """The number of chunks with a term."""
        self.phrase_counts: dict[tuple[str, ...], int] = {}
        """The number of chunks with a phrase, given by its terms. It may be estimated."""
        self.facts: dict[str, Any] = {}
        """Answers to questions that have no parameters, by name."""
        self.bytes = 0
        """The size of the posting lists."""
        self._lists: dict[tuple[str, bool], TermMatches] = {}

    def matches(self, key: tuple[str, bool]) -> TermMatches | None:
        """The posting list of a term; with True, of all terms that begin with a text."""
        return self._lists.get(key)

    def keep(self, key: tuple[str, bool], matches: TermMatches) -> None:
        """Keep a posting list. The oldest lists make room for it."""
        self._lists[key] = matches
        self.bytes += _size(matches)
        for oldest in list(self._lists) if self.bytes > MOST_BYTES else ():
            if self.bytes <= MOST_BYTES or oldest == key:
                break
            self.bytes -= _size(self._lists.pop(oldest))


class KeptScopes:
    """The kept scopes of a connection."""

    def __init__(self) -> None:
        self._scopes: dict[Hashable, tuple[Hashable, KeptScope]] = {}
        """Revision and what is kept of it, the scope that was read last at the end."""

    def at(self, scope: UUID, reader: Hashable, revision: Hashable) -> KeptScope:
        """What is kept of a revision of a scope. What was kept of another is forgotten.

        `reader` says what the reader sees of it.
        """
        known = self._scopes.pop((scope, reader), None)
        if known is None or known[0] != revision:
            known = revision, KeptScope()
        self._scopes[scope, reader] = known
        self._make_room()
        return known[1]

    def _make_room(self) -> None:
        size = sum(kept.bytes for _, kept in self._scopes.values())
        for oldest in list(self._scopes)[:-1]:
            if size <= MOST_BYTES and len(self._scopes) <= _MOST_SCOPES:
                return
            size -= self._scopes.pop(oldest)[1].bytes


def _size(matches: TermMatches) -> int:
    return matches.chunks.nbytes + matches.shares.nbytes
