"""Opens the index on a home's server, and keeps the connection for the next question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from djinn_memory.errors import Refused, Remedy
from djinn_memory.models import Vault
from djinn_memory.store.postgres.connection import connect, explained
from djinn_memory.store.postgres.index.postgres_index import PostgresIndex
from djinn_memory.store.postgres.migrations import state
from djinn_memory.store.postgres.servers import server_address

if TYPE_CHECKING:
    from djinn_memory.home.home import Home
    from djinn_memory.store.postgres.connection import Connection, ServerAddress


class ServerIndexes:
    """The indexes on the server of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._opened: tuple[Connection, ServerAddress] | None = None

    @contextmanager
    def reading(self, vaults: Sequence[Vault], recipe: str) -> Iterator[PostgresIndex]:
        """The index of some vaults. All reads in the block see one state of the server.

        `recipe` are the settings of the home's embedder. Raises `Unavailable` if the server does
        not answer, and `Refused` if it has none of the vaults or its schema does not fit.
        """
        connection, address = self._connected()
        home = self._home
        with explained(address), connection.transaction(), connection.cursor() as tx:
            index = PostgresIndex(tx, vaults, home.vaults, home.config.access, recipe)
            if vaults and not index.vaults:
                names = ", ".join(vault.name for vault in vaults)
                raise Refused(
                    f"{address} has none of these vaults: {names}",
                    Remedy("sync.push", {}, "send those of sync.vaults there"),
                )
            yield index

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
            # Not earlier: `connect` says in one line that the driver is missing.
            from psycopg import IsolationLevel

            try:
                state(connection, address)
                # They are part of each `begin`, and no setting of the session.
                connection.isolation_level = IsolationLevel.REPEATABLE_READ
                connection.read_only = True
            except BaseException:
                connection.close()
                raise
            self._opened = connection, address
        return self._opened
