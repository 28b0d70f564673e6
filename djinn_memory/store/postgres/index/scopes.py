"""The scopes that a caller reads, the parts that the reader may see, and caches of their data.

A process caches the data of a scope between two searches, while the scope does not change. It
caches the last revision of a scope. The random mark of the revision tells it from one with the
same number on a server that was restored from a backup.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.models import Vault
from djinn_memory.store.index.selection import Condition, Row
from djinn_memory.store.postgres.migrations import VectorModel
from djinn_memory.store.postgres.values import clean, uuid_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from djinn_memory.store.postgres.connection import Cursor
    from djinn_memory.store.postgres.index.postings import TermMatches

MOST_BYTES = 64 * 2**20
"""Memory for posting lists. A list takes 16 bytes for each chunk with the term."""

_MOST_SCOPES = 64
"""Scopes that are kept, each as its reader sees it."""


class ScopeCache:
    """Cached data of one revision of a scope, as one reader sees it. Numbers are the scope's."""

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


class ScopeCaches:
    """The cached scopes of a connection."""

    def __init__(self) -> None:
        self._scopes: dict[Hashable, tuple[Hashable, ScopeCache]] = {}
        """The revision of each scope and its cached data; the scope read last at the end."""

    def at(self, scope: UUID, reader: Hashable, revision: Hashable) -> ScopeCache:
        """The cached data of a revision of a scope. Data of another revision is discarded.

        `reader` identifies the part of the scope that the reader sees.
        """
        known = self._scopes.pop((scope, reader), None)
        if known is None or known[0] != revision:
            known = revision, ScopeCache()
        self._scopes[scope, reader] = known
        self._make_room()
        return known[1]

    def _make_room(self) -> None:
        size = sum(cache.bytes for _, cache in self._scopes.values())
        for oldest in list(self._scopes)[:-1]:
            if size <= MOST_BYTES and len(self._scopes) <= _MOST_SCOPES:
                return
            size -= self._scopes.pop(oldest)[1].bytes


def _size(matches: TermMatches) -> int:
    return matches.chunks.nbytes + matches.shares.nbytes


_POSITION_BITS = 48
"""The low bits of a number in the index: the number in the scope. The high bits say which scope."""

NEAR = "index_windows_near_"
"""The beginning of the name of a scope's HNSW index. It ends with the digits of the scope."""


class DomainSet(Struct, frozen=True):
    """The memories of a scope with the same domains."""

    number: int
    domains: tuple[str, ...]
    chunks: int
    length: int
    languages: tuple[str, ...]
    excluded: str
    """The agents that may not see them. Sets with the same excluded agents are one compartment, in
    which the length of a chunk is compared, as in the local index."""
    visible: bool


class ReadScope(Struct, frozen=True):
    """A vault on the server, as its reader sees it."""

    position: int
    id: UUID
    vault: Vault
    sets: tuple[DomainSet, ...]
    near: bool
    """Whether its vectors have an HNSW index."""
    cache: ScopeCache
    """The data that earlier searches of this revision have read."""
    send: Callable[[str, Sequence[object], bool, str | None], Callable[[], list[Row]]]
    """See `Scopes.send`."""

    @property
    def name(self) -> str:
        """The name of the vault."""
        return self.vault.name

    @property
    def visible(self) -> list[int]:
        """The numbers of the sets of domains that the reader may see."""
        return [each.number for each in self.sets if each.visible]

    @property
    def hides(self) -> bool:
        """Whether any memory may be hidden from the reader."""
        return not all(each.visible for each in self.sets)

    def key(self, number: int) -> int:
        """The number of a memory or chunk in the index, from that in the scope."""
        return self.position << _POSITION_BITS | number

    @property
    def readable(self) -> Condition:
        """See `IndexPart`."""
        where = Condition(["memory.user_id = %s"], [self.id])
        if self.hides:
            where.add("memory.domain_set = any(%s)", self.visible)
        return where

    def rows(
        self,
        sql: str,
        values: Sequence[object] = (),
        *,
        binary: bool = False,
        plan: str | None = None,
    ) -> list[Row]:
        """All rows of a query; see `Scopes.send`."""
        return self.ask(sql, values, binary=binary, plan=plan)()

    def ask(
        self,
        sql: str,
        values: Sequence[object] = (),
        *,
        binary: bool = False,
        plan: str | None = None,
    ) -> Callable[[], list[Row]]:
        """Send a query about the scope, whose id stands for `{part}`; see `Scopes.send`."""
        return self.send(sql.replace("{part}", f"'{self.id}'"), values, binary, plan)

    def vault_of(self, value: object) -> Vault:
        """Its vault."""
        return self.vault

    def places(self, places: Sequence[tuple[str, str]]) -> list[str]:
        """The paths of places in its vault."""
        return [path for name, path in places if name == self.name]

    def expiries(self) -> list[str]:
        """See `IndexPart`."""
        expiries: list[str] = self.fact(
            "select array_agg(distinct text) from (select unnest(expires) as text "
            "from index_memories where user_id = %s and expires is not null "
            "and domain_set = any(%s)) as expiries"
        )
        return expiries or []

    def fact(self, sql: str) -> Any:
        """The only value of a query over the visible sets of domains, kept with the revision.

        Its values are the scope and the numbers of the sets.
        """
        if sql not in self.cache.facts:
            [(value,)] = self.rows(sql, (self.id, self.visible))
            self.cache.facts[sql] = value
        return self.cache.facts[sql]

    def numbers(self, keys: NDArray[np.int64]) -> list[int]:
        """The numbers in the scope, from sorted ones in the index. Other scopes' are left out."""
        first, last = keys.searchsorted([self.key(0), self.key(0) + (1 << _POSITION_BITS)])
        listed: list[int] = (keys[first:last] - self.key(0)).tolist()
        return listed


class Scopes:
    """Runs queries in each scope. A statement names one scope, so that a cluster routes it."""

    model: VectorModel | None = None
    """The model of the server; None if it has none of the scopes."""

    def __init__(
        self,
        tx: Cursor,
        vaults: Sequence[Vault],
        granted: Mapping[str, Collection[str]],
        caches: ScopeCaches | None = None,
        listed: Sequence[Sequence[Row]] | None = None,
    ) -> None:
        """`granted` are the domains that each limited agent may see.

        `caches` hold the data of earlier searches. `listed` are the rows of each of
        `scope_queries`, if they have been read already.
        """
        self._tx, self._granted, self._caches = tx, granted, caches or ScopeCaches()
        self._planned: dict[str, tuple[str, Sequence[object]]] = {}
        named = _on_server(vaults)
        if listed is None:
            asked = [self.send(sql) for sql in scope_queries(vaults)]
            listed = [fetch() for fetch in asked]
        indexes, *read = listed
        near: dict[UUID, bool] = dict(indexes)
        grants = access.grants_of(granted)
        known: dict[UUID, list[DomainSet]] = defaultdict(list)
        revisions = {}
        for row in itertools.chain.from_iterable(read):
            scope, rev, mark, number, domains, chunks, length, languages, *model = row
            self.model = VectorModel(*model)
            known[scope], revisions[scope] = known[scope], (rev, mark)
            if number is not None:
                agents = access.excluded(grants, domains) if domains else []
                known[scope].append(
                    DomainSet(
                        number, tuple(domains), chunks, int(length), tuple(languages),
                        " ".join(agents), named[scope].reader not in agents,
                    )
                )  # fmt: skip
        present = [(scope, vault) for scope, vault in named.items() if scope in known]
        self.all = tuple(
            ReadScope(
                position,
                scope,
                vault,
                tuple(known[scope]),
                near[scope],
                self._caches.at(scope, _view(known[scope]), revisions[scope]),
                self.send,
            )
            for position, (scope, vault) in enumerate(present)
        )
        self._by_name = {scope.name: scope for scope in self.all}

    def beside(self, vaults: Sequence[Vault]) -> Scopes:
        """The scopes of other vaults in the same snapshot."""
        return Scopes(self._tx, vaults, self._granted, self._caches)

    def __iter__(self) -> Iterator[ReadScope]:
        return iter(self.all)

    def named(self, names: Collection[str]) -> list[ReadScope]:
        """The scopes with these names, or all without names."""
        return [self._by_name[name] for name in names or self._by_name if name in self._by_name]

    def of(self, keys: Iterable[int]) -> Iterator[tuple[ReadScope, list[int]]]:
        """The scope of numbers in the index, with the numbers in the scope."""
        numbers: defaultdict[int, list[int]] = defaultdict(list)
        for key in keys:
            numbers[key >> _POSITION_BITS].append(key & (1 << _POSITION_BITS) - 1)
        for position, listed in numbers.items():
            if 0 <= position < len(self.all):
                yield self.all[position], listed

    def send(
        self, sql: str, values: Sequence[object] = (), binary: bool = False, plan: str | None = None
    ) -> Callable[[], list[Row]]:
        """Send a query, on which the server works until its rows are called for.

        With `plan`, its plan is shown under this name; see `plans`.
        """
        values = [_parameter(value) for value in values]
        if plan:
            self._planned[plan] = sql, values
        cursor = self._tx.connection.cursor()
        cursor.execute(sql.encode(), values or None, binary=binary)
        return cursor.fetchall

    def plans(self) -> dict[str, list[str]]:
        """The indexes that the server uses for named statements. An empty list is a scan."""
        plans = {}
        for name, (sql, values) in self._planned.items():
            [(plan,)] = self._tx.execute(f"explain (format json) {sql}".encode(), values)
            plans[name] = sorted(set(_indexes(plan)))
        return plans

    def run(self, sql: str) -> None:
        """Run a statement that returns nothing, such as `set local`."""
        self._tx.execute(sql.encode())


def scope_queries(vaults: Sequence[Vault]) -> list[str]:
    """The statements, without parameters, that read the data which `Scopes` needs.

    The first asks the catalogue which scopes have an HNSW index: on a cluster, the node of a scope
    knows other names. Each of the others asks for a scope.
    """
    scopes = list(_on_server(vaults))
    listed = ",".join(map(str, scopes))
    return [
        f"select scope, to_regclass('{NEAR}' || replace(scope::text, '-', '')) is not null "
        f"from unnest('{{{listed}}}'::uuid[]) as scope",
        *map(_scope_query, scopes),
    ]


def _scope_query(scope: UUID) -> str:
    return (
        "select scopes.user_id, scopes.rev, mark, number, domains, chunks, length, languages, "
        "identity, dimensions, scale, shift from scopes cross join server "
        "left join revisions on revisions.user_id = scopes.user_id "
        "and revisions.rev = scopes.rev "
        "left join index_domain_sets as sets on sets.user_id = scopes.user_id "
        f"where scopes.user_id = '{scope}'"
    )


def _on_server(vaults: Sequence[Vault]) -> dict[UUID, Vault]:
    # A vault without a UUID is on no server.
    return {scope: vault for vault in vaults if (scope := uuid_of(vault.id))}


def _view(sets: Sequence[DomainSet]) -> tuple[object, ...]:
    """A key that distinguishes the readers of a scope."""
    return tuple((each.number, each.excluded, each.visible) for each in sets)


def _parameter(value: object) -> object:
    """A parameter of a query, with texts that Postgres takes."""
    if isinstance(value, str):
        # Bytes that are no text, and NUL, match nothing.
        return clean(value)
    if isinstance(value, list | tuple):
        if value and type(value[0]) is int:
            # The driver takes 50 times as long to write a list of numbers.
            return f"{{{','.join(map(str, value))}}}"
        return [_parameter(each) for each in value]
    return value


def _indexes(plan: Any) -> Iterator[str]:
    """The names of the indexes in a plan, as Postgres returns it in JSON."""
    if isinstance(plan, list):
        for part in plan:
            yield from _indexes(part)
    elif isinstance(plan, dict):
        if name := plan.get("Index Name"):
            yield name
        for part in plan.values():
            yield from _indexes(part)
