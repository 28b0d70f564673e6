"""The index on a server, whose queries run in one snapshot; see `search.backend.Index`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from djinn_memory.errors import Refused, Remedy
from djinn_memory.home import access
from djinn_memory.models import Vault
from djinn_memory.notes.link_resolution import LinkTarget
from djinn_memory.store.index.records import Edge, IndexedLink
from djinn_memory.store.index.stored_index import IdClaim, StoredIndex, readers
from djinn_memory.store.index.stored_links import StoredLink, StoredLinks
from djinn_memory.store.postgres.connection import snapshot
from djinn_memory.store.postgres.index.postgres_tables import ScopeSelections
from djinn_memory.store.postgres.index.postgres_vectors import (
    EXPLORED,
    PostgresVectorIndex,
    exploring,
)
from djinn_memory.store.postgres.index.postgres_words import PostgresWordIndex
from djinn_memory.store.postgres.index.scopes import ReadScope, ScopeCaches, Scopes, scope_queries
from djinn_memory.store.postgres.scopes import names as scope_names
from djinn_memory.store.postgres.servers import ServerConnection, open_server

if TYPE_CHECKING:
    from djinn_memory.home.home import Home
    from djinn_memory.store.index.vectors import VectorSpace

_LINK = (
    "link.memory, link.number, memory.path, link.target_scope, link.target_path, "
    "link.target_block, link.target_is_memory, link.candidates, link.target, link.line, "
    "link.start, link.field, link.embed, link.how, link.candidates <> '[]', link.heading, "
    "link.block, link.kind, link.label"
)


class _ReadLink(NamedTuple):
    """A link as the server has it; the target of `stored` is not known yet."""

    stored: StoredLink
    leads_to: tuple[UUID | None, str | None, str | None]
    """The scope, the path and the block."""
    to_memory: bool
    candidates: frozenset[tuple[str, str]]
    """The notes that it could mean, by vault id and path."""


class _PostgresLinks(StoredLinks[ReadScope]):
    """The links of some scopes.

    Their targets are found by path, so that a link may lead to another scope, and to a note that is
    pushed later.
    """

    def __init__(self, selections: ScopeSelections, reserved: Mapping[str, str]) -> None:
        """`reserved` is as for `Resolver`."""
        self._scopes = {scope.id: scope for scope in selections.parts()}
        self._places: list[tuple[ReadScope, UUID]] = []
        super().__init__(selections, [each.vault for each in self._scopes.values()], reserved)

    def _stored(self, memory_ids: Collection[int]) -> Iterator[StoredLink]:
        """See `StoredLinks`."""
        stored: list[_ReadLink] = []
        for scope, numbers in self._selections.of(memory_ids):
            stored += self._read(scope, "link.memory = any(%s)", numbers)
        for target, numbers in self._selections.of(memory_ids):
            places = target.rows(
                "select distinct path from index_memories where user_id = %s and number = any(%s)",
                (target.id, numbers),
            )
            where = "link.target_scope = %s and link.target_path = any(%s)"
            for scope in self._scopes.values():
                stored += self._read(scope, where, target.id, [path for (path,) in places])
        return self._led(dict.fromkeys(stored))

    def _affected(self) -> Iterator[StoredLink]:
        """See `StoredLinks`."""
        hidden: set[tuple[UUID | None, str | None, str | None]] = set()
        notes: set[tuple[str, str]] = set()
        for scope in self._scopes.values():
            listed = scope.rows(
                "select path, block, domain_set = any(%s) from index_memories where user_id = %s",
                (scope.visible, scope.id),
            )
            hidden |= {(scope.id, path, block) for path, block, visible in listed if not visible}
            shown = {path for path, _, visible in listed if visible}
            notes |= {(str(scope.id), path) for path, *_ in listed if path not in shown}
        where = "(target_path is not null or candidates <> '[]')"
        return self._led(
            link
            for scope in self._scopes.values()
            for link in self._read(scope, where)
            if link.leads_to in hidden or not notes.isdisjoint(link.candidates)
        )

    def _edges(self, shown: Sequence[str] | None) -> Iterator[tuple[Hashable, Edge]]:
        """See `StoredLinks`."""
        where, values = "link.target_path is not null", list[object]()
        if shown is not None:
            where += " and (link.label ilike any(%s) or link.label ~ '[^ -~]')"
            values.append([f"%{part}%" for part in shown])
        scopes = self._scopes.values()
        read = [link for scope in scopes for link in self._read(scope, where, *values)]
        for key, link, *_ in self._led(read):
            if link.target is not None:
                text = link.label or link.text
                yield key, Edge(link.source, link.target, link.line, text, link.field)

    def _read(self, scope: ReadScope, where: str, *values: object) -> Iterator[_ReadLink]:
        """Links of readable memories of a scope, without links to scopes that are not read."""
        listed = scope.rows(
            f"select {_LINK} from index_links as link join index_memories as memory "
            "on memory.user_id = link.user_id and memory.number = link.memory "
            f"where link.user_id = %s and memory.domain_set = any(%s) and {where} "
            "order by link.memory, link.number",
            (scope.id, scope.visible, *values),
        )
        for memory, number, path, to_scope, to_path, to_block, *row in listed:
            if to_scope is not None and to_scope not in self._scopes:
                continue
            to_memory, candidates, text, line, start, *more = row
            link = IndexedLink(scope.key(memory), None, text, line, start, *more)
            stored = StoredLink((scope.id, memory, number), link, scope.name, path)
            meant = frozenset((vault, path) for vault, path in candidates)
            yield _ReadLink(stored, (to_scope, to_path, to_block), to_memory, meant)

    def _led(self, links: Iterable[_ReadLink]) -> Iterator[StoredLink]:
        """Links with the numbers of the memories to which they lead."""
        links = list(links)
        wanted: dict[UUID, set[str]] = {}
        for _, (scope_id, path, _), to_memory, _ in links:
            if scope_id and path is not None and to_memory:
                wanted.setdefault(scope_id, set()).add(path)
        targets: dict[tuple[UUID | None, str | None, str | None], int] = {}
        for scope_id, paths in wanted.items():
            scope = self._scopes[scope_id]
            listed = scope.rows(
                "select path, block, number from index_memories "
                "where user_id = %s and path = any(%s) and domain_set = any(%s)",
                (scope.id, sorted(paths), scope.visible),
            )
            targets |= {(scope.id, path, block): scope.key(key) for path, block, key in listed}
        for stored, leads_to, to_memory, _ in links:
            target = targets.get(leads_to) if to_memory else None
            yield stored._replace(link=replace(stored.link, target=target))

    def _notes(
        self, named: str | None = None, keys: Collection[str] | None = None
    ) -> list[LinkTarget]:
        """See `StoredLinks`."""
        narrowed, values = "", []
        if named is not None:
            paths = [named, *(named[at + 1 :] for at, sign in enumerate(named) if sign in ":/")]
            narrowed, values = "and (path = any(%s) or uid = %s and block is null)", [paths, named]
        elif keys is not None:
            narrowed, values = "and link_keys && %s", [sorted(keys)]
        notes: list[LinkTarget] = []
        for scope in self._scopes.values():
            # The row of the whole note, where there is one, has its names.
            listed = scope.rows(
                "select distinct on (path) note_id, path, block, uid, title, aliases, blocks "
                f"from index_memories where user_id = %s and domain_set = any(%s) {narrowed} "
                "order by path, block nulls first",
                (scope.id, scope.visible, *values),
            )
            for note_id, path, block, uid, title, aliases, blocks in listed:
                names = (uid, title, tuple(aliases)) if block is None else (None, None, ())
                own_id, own_title, own_aliases = names
                stem = PurePosixPath(path).stem
                notes.append(
                    LinkTarget(
                        len(self._places), scope.name, path, own_id, own_title or stem,
                        own_aliases, tuple(blocks),
                    )
                )  # fmt: skip
                self._places.append((scope, note_id))
        return notes

    def _place(self, key: int) -> tuple[ReadScope, UUID]:
        """See `StoredLinks`."""
        return self._places[key]


class PostgresIndex(StoredIndex[ReadScope]):
    """Reads one state of the index on a server, limited to `vaults`."""

    def __init__(self, scopes: Scopes, every: Sequence[Vault] = (), recipe: str = "") -> None:
        """`scopes` are read in a transaction that sees one snapshot.

        `every` are the vaults of the home. The owner of an id is looked for in all of them.
        `recipe` are the settings of the embedder that made the server's vectors.
        """
        self.vaults = tuple(scope.vault for scope in scopes)
        self._scopes, self._every = scopes, every or self.vaults
        selections = ScopeSelections(scopes)
        self.words = PostgresWordIndex(selections)
        self.vectors = PostgresVectorIndex(scopes, selections, recipe)
        super().__init__(selections, _PostgresLinks(selections, access.reserved_for(self._every)))

    def content(self, vault: str, path: str) -> bytes | None:
        """The bytes of a note that the reader may see."""
        for scope in self._scopes.named([vault]):
            listed = scope.rows(
                "select content from notes where user_id = %s and path = %s and not deleted "
                "and note_id in (select note_id from index_memories where user_id = %s "
                "and path = %s and domain_set = any(%s))",
                (scope.id, path, scope.id, path, scope.visible),
            )
            for (content,) in listed:
                return bytes(content)
        return None

    def plan(self) -> str:
        """The vaults that were read, and the indexes that the server used for the last question."""
        vaults = ", ".join(scope.name for scope in self._scopes) or "none"
        used = (
            f"{name} by {', '.join(indexes) or 'a scan'}"
            for name, indexes in self._scopes.plans().items()
        )
        return "; ".join([f"Postgres, vaults: {vaults}", *used])

    @cached_property
    def _owning(self) -> Scopes:
        """The scopes of the home's vaults."""
        return self._scopes.beside([replace(vault, reader=None) for vault in self._every])

    def _claims(self, ids: Collection[str]) -> Iterator[IdClaim]:
        """See `StoredIndex`."""
        for scope in self._owning:
            excluded = {each.number: each.excluded for each in scope.sets}
            listed = scope.rows(
                "select uid, domain_set, path, block, coalesce(created, 'z'), modified_ns "
                "from index_memories where user_id = %s and uid = any(%s)",
                (scope.id, list(ids)),
            )
            for uid, domain_set, path, block, created, modified in listed:
                who = readers(scope.vault.agent, excluded[domain_set])
                age = created, modified, path
                yield IdClaim(uid, (scope.vault.id, path, block), who, age)


class ServerIndexes:
    """The indexes on the server of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._opened: ServerConnection | None = None
        self._caches = ScopeCaches()
        self._spaces: dict[Hashable, VectorSpace | None] = {}

    @contextmanager
    def reading(self, vaults: Sequence[Vault], recipe: str) -> Iterator[PostgresIndex]:
        """The index of some vaults. All reads in the block see one state of the server.

        `recipe` are the settings of the home's embedder. Raises `Unavailable` if the server does
        not answer, and `Refused` if it has none of the vaults or its schema does not fit.
        """
        server, home = self._connected(), self._home
        settings, queries = exploring(EXPLORED), scope_queries(vaults)
        with snapshot(server.connection, server.address, settings, queries) as (tx, listed):
            scopes = Scopes(tx, vaults, home.grants, self._caches, listed)
            here = {vault.id for vault in home.vaults}
            others = [vault for vault in vaults if vault.id not in here]
            index = PostgresIndex(scopes, [*access.opened(home.vaults), *others], recipe)
            index.vectors.explored = EXPLORED
            if vaults and not index.vaults:
                names = ", ".join(vault.name for vault in vaults)
                raise Refused(
                    f"{server.address} has none of these vaults: {names}",
                    Remedy("sync.push", {}, "send those of sync.vaults there"),
                )
            yield index
            if "space" in index.vectors.__dict__:
                self._spaces[_view(vaults, recipe)] = index.vectors.space

    def other_vaults(self) -> list[Vault]:
        """The vaults on the server that this home does not have, as far as its user may see them.

        One with the name of another vault gets the first digits of its id as an ending.
        """
        with self._connected().reading() as cursor:
            known = scope_names(cursor)
        here = {vault.id for vault in self._home.vaults}
        names = {vault.name for vault in self._home.vaults}
        others = []
        for scope, name in known:
            if str(scope) not in here:
                name = f"{name}-{scope.hex[:8]}" if name in names else name
                names.add(name)
                # Its notes have no files here.
                root = self._home.state / "server" / str(scope)
                others.append(Vault(name, root, str(scope)))
        return others

    def space(self, vaults: Sequence[Vault], recipe: str) -> VectorSpace | None:
        """The vectors of some vaults, as an earlier search has read them if there was one.

        They may have changed since then. An index that is opened later has the current ones.
        """
        if known := self._spaces.get(_view(vaults, recipe)):
            return known
        with self.reading(vaults, recipe) as index:
            return index.vectors.space

    def close(self) -> None:
        """Close the connection. The next question opens another."""
        if self._opened:
            self._opened.connection.close()
            self._opened = None

    def _connected(self) -> ServerConnection:
        opened = self._opened
        if opened is None or opened.connection.closed or opened.connection.broken:
            self._opened = opened = open_server(self._home)
        return opened


def _view(vaults: Sequence[Vault], recipe: str) -> Hashable:
    return recipe, *((vault.id, vault.reader) for vault in vaults)
