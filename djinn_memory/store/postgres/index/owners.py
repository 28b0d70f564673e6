"""Decides which memory owns an id that several memories have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Vault
from djinn_memory.store.postgres.index.scopes import Scopes


class _Claim(Struct, frozen=True):
    """A memory with an id."""

    readers: str | None
    """Who reads it, as a text to compare; None for everybody."""
    age: tuple[str, int, str]


class Owners:
    """Finds the owners of ids among all vaults of a home."""

    def __init__(self, scopes: Scopes, every: Sequence[Vault]) -> None:
        self._read = scopes
        self._every = [replace(vault, reader=None) for vault in every]

    @cached_property
    def _scopes(self) -> Scopes:
        return self._read.beside(self._every)

    def among(self, claims: Sequence[tuple[UUID, int, str]]) -> set[tuple[UUID, int]]:
        """The scope and number of those memories, given with their ids, that own their ids."""
        if not claims:
            return set()
        scopes = self._scopes
        by_id: defaultdict[str, dict[tuple[UUID, int], _Claim]] = defaultdict(dict)
        for scope in scopes:
            excluded = {each.number: each.excluded for each in scope.sets}
            listed = scopes.rows(
                "select uid, number, domain_set, coalesce(created, 'z'), modified_ns, path "
                "from index_memories where user_id = %s and uid = any(%s)",
                (scope.id, list({uid for *_, uid in claims})),
            )
            for uid, number, domain_set, *age in listed:
                agent, hidden = scope.vault.agent or "", excluded[domain_set]
                readers = f"{agent} but {hidden}" if agent or hidden else None
                by_id[uid][scope.id, number] = _Claim(readers, (age[0], age[1], age[2]))
        return {
            (scope, number)
            for scope, number, uid in claims
            if not any(
                _precedes(other, by_id[uid][scope, number])
                for key, other in by_id[uid].items()
                if key != (scope, number)
            )
        }


def _precedes(other: _Claim, own: _Claim) -> bool:
    """Whether another memory takes an id.

    A memory for everybody keeps its id whatever memories of some agents hold, so that nobody is
    shown a trace of what is hidden.
    """
    if other.readers is None and own.readers is not None:
        return True
    return other.readers == own.readers and other.age < own.age
