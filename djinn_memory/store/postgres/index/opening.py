"""Opens the index on a home's server, and keeps the connection for the next question."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from djinn_memory.errors import Refused, Remedy
from djinn_memory.models import Vault
from djinn_memory.store.postgres.connection import connect, reading, snapshot
from djinn_memory.store.postgres.index.kept import KeptScopes
from djinn_memory.store.postgres.index.postgres_index import PostgresIndex
from djinn_memory.store.postgres.index.postgres_vectors import EXPLORED, exploring
from djinn_memory.store.postgres.index.scopes import Scopes, scope_queries
from djinn_memory.store.postgres.migrations import state
from djinn_memory.store.postgres.scopes import names as scope_names
from djinn_memory.store.postgres.servers import server_address

if TYPE_CHECKING:
    from djinn_memory.home.home import Home
    from djinn_memory.store.index.vectors import VectorSpace
    from djinn_memory.store.postgres.connection import Connection, ServerAddress


class ServerIndexes:
    """The indexes on the server of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._opened: tuple[Connection, ServerAddress] | None = None
        self._kept = KeptScopes()
        self._spaces: dict[Hashable, VectorSpace | None] = {}

    @contextmanager
    def reading(self, vaults: Sequence[Vault], recipe: str) -> Iterator[PostgresIndex]:
        """The index of some vaults. All reads in the block see one state of the server.

        `recipe` are the settings of the home's embedder. Raises `Unavailable` if the server does
        not answer, and `Refused` if it has none of the vaults or its schema does not fit.
        """
        connection, address = self._connected()
        home = self._home
        settings, queries = exploring(EXPLORED), scope_queries(vaults)
        with snapshot(connection, address, settings, queries) as (tx, listed):
            scopes = Scopes(tx, vaults, home.config.access, self._kept, listed)
            here = {vault.id for vault in home.vaults}
            others = [vault for vault in vaults if vault.id not in here]
            index = PostgresIndex(scopes, [*home.vaults, *others], recipe)
            index.vectors.explored = EXPLORED
            if vaults and not index.vaults:
                names = ", ".join(vault.name for vault in vaults)
                raise Refused(
                    f"{address} has none of these vaults: {names}",
                    Remedy("sync.push", {}, "send those of sync.vaults there"),
                )
            yield index
            if "space" in index.vectors.__dict__:
                self._spaces[_view(vaults, recipe)] = index.vectors.space

    def other_vaults(self) -> list[Vault]:
        """The vaults on the server that this home does not have, as far as its user may see them.

        One with the name of another vault gets the first digits of its id as an ending.
        """
        connection, address = self._connected()
        with reading(connection, address) as cursor:
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
            self._opened[0].close()
            self._opened = None

    def _connected(self) -> tuple[Connection, ServerAddress]:
        if self._opened and (self._opened[0].closed or self._opened[0].broken):
            self._opened = None
        if self._opened is None:
            address = server_address(self._home)
            connection = connect(address)
            try:
                state(connection, address)
            except BaseException:
                connection.close()
                raise
            self._opened = connection, address
        return self._opened


def _view(vaults: Sequence[Vault], recipe: str) -> Hashable:
    return recipe, *((vault.id, vault.reader) for vault in vaults)
