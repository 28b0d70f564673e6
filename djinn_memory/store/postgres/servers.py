"""The server of a home: its address, and connections to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.errors import Refused, Remedy, Unavailable
from djinn_memory.home.config import variable
from djinn_memory.store.postgres import embedded
from djinn_memory.store.postgres.connection import (
    ScopeWriter,
    ServerAddress,
    connect,
    reading,
    transaction,
    writing,
)
from djinn_memory.store.postgres.migrations import ServerState, state

if TYPE_CHECKING:
    from djinn_memory.home.home import Home
    from djinn_memory.store.postgres.connection import Connection, Cursor

URL = "DJINN_POSTGRES_URL"
"""The environment variable with a server's address. It may hold a password."""

EMBEDDED = "embedded"


@dataclass(frozen=True)
class ServerConnection:
    """A connection to a server whose schema fits this djinn."""

    connection: Connection
    address: ServerAddress
    state: ServerState

    def reading(self) -> AbstractContextManager[Cursor]:
        """See `connection.reading`."""
        return reading(self.connection, self.address)

    def writing(self, scope: UUID) -> AbstractContextManager[ScopeWriter]:
        """See `connection.writing`."""
        return writing(self.connection, self.address, scope)

    def transaction(self) -> AbstractContextManager[Cursor]:
        """See `connection.transaction`."""
        return transaction(self.connection, self.address)


@contextmanager
def connected(home: Home) -> Iterator[ServerConnection]:
    """A connection to the server of a home, closed at the end. Starts an embedded server.

    Raises `Unavailable` if there is none or it does not answer, and `Refused`, with the remedy, if
    its schema does not fit this djinn.
    """
    server = open_server(home)
    with closing(server.connection):
        yield server


def open_server(home: Home) -> ServerConnection:
    """As `connected`, without an end. Close the connection after use."""
    address = server_address(home)
    connection = connect(address)
    try:
        return ServerConnection(connection, address, state(connection, address))
    except BaseException:
        connection.close()
        raise


def server_address(home: Home) -> ServerAddress:
    """The address of a home's server, which is started if it is an embedded one.

    `DJINN_POSTGRES_URL` wins over `sync.url`. Raises `Unavailable` if neither is set.
    """
    if url := variable(URL):
        return ServerAddress.of(url, source=URL)
    sync = home.config.sync
    if sync.url is None:
        refused = [str(endpoint) for endpoint in home.untrusted if endpoint.use == "sync"]
        if refused:
            raise Refused(
                f"{home.config_path} names the {refused[0]}, which is not trusted; check it first",
                Remedy("config.trust", {}, "allow it"),
            )
        raise Unavailable(
            "this home has no Postgres server",
            Remedy("sync.init", {"url": None}, "join one"),
            Remedy("sync.init", {"embedded": True}, "try one inside this home"),
        )
    return start_at(home, sync.url)


def configured_url(home: Home) -> str | None:
    """The URL in `DJINN_POSTGRES_URL` or else in `sync.url`; None if the home has no server."""
    return variable(URL) or home.config.sync.url


def start_at(
    home: Home, url: str, source: str = "sync.url", *, create: bool = False
) -> ServerAddress:
    """The address of the server at `url`, a value of `sync.url`, which is started if embedded.

    `source` names where `url` comes from, for messages. `create` makes an embedded server that is
    not there; without it, `Unavailable` is raised.
    """
    folder = embedded_folder(home, url)
    if folder:
        # The password of another server is not meant for this one.
        conninfo = embedded.running(folder, create=create).conninfo()
        return ServerAddress.of(conninfo, name=f"the Postgres server in {folder}")
    key = home.config.sync.key_env
    return ServerAddress.of(url, variable(key) if key else None, source=source)


def embedded_folder(home: Home, url: str) -> Path | None:
    """The data folder of an embedded server: in `home`, or in the home that `url` names.

    None if `url` is the address of another kind of server.
    """
    kind, _, place = url.partition(":")
    if kind != EMBEDDED:
        return None
    if not place:
        return home.state / "postgres"
    from djinn_memory.home.home import discover

    return discover(place).state / "postgres"
