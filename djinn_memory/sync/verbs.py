"""Operations on the Postgres server of a home."""

from __future__ import annotations

from djinn_memory.runtime import Namespace, operation
from djinn_memory.sync import server
from djinn_memory.sync.requests import (
    InitSync,
    MigratedServer,
    MigrateSync,
    PreparedServer,
    ServerStatus,
    ShowSyncStatus,
)


class Sync(Namespace):
    """Synchronization of vaults with a Postgres server, where several homes meet."""

    @operation(InitSync, recover=False, patient=True)
    def init(self, request: InitSync) -> PreparedServer:
        """Prepare a server, register the vaults that go to it, and write its address in the config.

        If the server has a shared vault already, the shared vault of this home becomes the same
        vault: it gets that vault's id. Its notes stay, and go to the server with the next `run`.
        Nothing else is sent. Raises `Unavailable`, and changes nothing, if the server cannot be
        reached or lacks pgvector, and `Refused` if its vectors come from another model.
        """
        return server.prepare(self.runtime, request)

    @operation(MigrateSync, recover=False, patient=True)
    def migrate(self, request: MigrateSync) -> MigratedServer:
        """Update the tables of the server to this version of djinn, in one transaction.

        Raises `Refused` if a newer djinn made them.
        """
        return server.update(self.runtime, request)

    @operation(ShowSyncStatus, recover=False)
    def status(self, request: ShowSyncStatus) -> ServerStatus:
        """Show the server, its versions and its vaults. Raises `Unavailable` if it is down."""
        return server.describe(self.runtime)
