"""Operations on the Postgres server of a home."""

from __future__ import annotations

from uuid import UUID

from djinn_memory.errors import DjinnError, Remedy, UsageError
from djinn_memory.models import Problem
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres import queries
from djinn_memory.store.postgres.queries import SyncStats
from djinn_memory.store.postgres.servers import ServerConnection, connected
from djinn_memory.sync import requests, server


def _search_facts(
    runtime: Runtime, server: ServerConnection, request: requests.SearchServerFacts
) -> requests.ServerFacts:
    """See `Sync.facts`."""
    if not request.query.strip():
        example = Remedy("sync.facts", {"query": "where she lives"}, "see an example")
        raise UsageError("the query is empty", example)
    problems: list[Problem] = []
    vector = None
    embedder = runtime.models.embedder
    if embedder is not None and embedder.identity == server.state.model.identity:
        try:
            [vector] = embedder.embed([request.query], query=True)
        except DjinnError as error:
            problems.append(Problem("embedding", f"{error}; facts are compared by text only"))
    else:
        why = f"the server has vectors of {server.state.model.identity}, which this home lacks"
        problems.append(Problem("embedding", f"{why}; facts are compared by text only"))
    with server.reading() as tx:
        scopes = _scopes(runtime, everything=request.all)
        answers = queries.search(tx, request.query, vector, runtime.now(), scopes, request.limit)
    return requests.ServerFacts(answers, problems)


def _scopes(runtime: Runtime, *, everything: bool) -> list[UUID] | None:
    """The scopes of this home's vaults, or None for all that the user of the server may read."""
    return None if everything else [UUID(vault.id) for vault in runtime.home.synced]


class Sync(Namespace, name="sync"):
    """Synchronization of vaults with a Postgres server, where several homes meet."""

    @operation(requests.InitSync, recover=False, patient=True, rights="person")
    def init(self, request: requests.InitSync) -> requests.PreparedServer:
        """Prepare a server, register the vaults that go to it, and write its address in the config.

        If the server has a shared vault already, the shared vault of this home becomes the same
        vault: it gets that vault's id. Its notes stay, and go to the server with the next `run`.
        Nothing else is sent. Raises `Unavailable`, and changes nothing, if the server cannot be
        reached or lacks pgvector, and `Refused` if its vectors come from another model.
        """
        return server.prepare(self.runtime, request)

    @operation(requests.MigrateSync, recover=False, patient=True, rights="person")
    def migrate(self, request: requests.MigrateSync) -> requests.MigratedServer:
        """Update the tables of the server to this version of djinn, in one transaction.

        With `dry_run` nothing is changed, and the answer says what would be. Raises `Refused` if a
        newer djinn made them, and `Unavailable` for `model` if this home has no embedding model.
        """
        return server.update(self.runtime, request)

    @operation(requests.ShowSyncStatus, recover=False, rights="person")
    def status(self, request: requests.ShowSyncStatus) -> requests.ServerStatus:
        """Show the server, its versions, its vaults and their homes.

        Raises `Unavailable` if the server is down.
        """
        return server.describe(self.runtime)

    @operation(requests.ForgetSync, recover=False, patient=True, removes=True, rights="person")
    def forget(self, request: requests.ForgetSync) -> requests.ForgottenSync:
        """Remove a vault with all its rows from the server, or the record of a home.

        Files of homes stay. A removed vault leaves `sync.vaults` here, and the next run of another
        home is refused. A forgotten home that comes back compares everything, and deletes nothing.
        """
        from djinn_memory.sync.session import forget

        return forget(self.runtime, request)

    @operation(requests.RunSync, patient=True, writes=True, removes=True, rights="person")
    def run(self, request: requests.RunSync) -> requests.SyncReport:
        """Receive the changes of other homes, then send those of this home.

        A note that was changed here and elsewhere keeps the server's text, and the text of this
        home becomes a conflict copy beside it. An interrupted run is resumed by the next one.
        """
        from djinn_memory.sync.session import synchronize

        return synchronize(self.runtime, request, "both")

    @operation(requests.PullSync, patient=True, writes=True, removes=True, rights="person")
    def pull(self, request: requests.PullSync) -> requests.SyncReport:
        """Receive the changes of other homes, and send nothing."""
        from djinn_memory.sync.session import synchronize

        return synchronize(self.runtime, request, "pull")

    @operation(requests.PushSync, patient=True, rights="person")
    def push(self, request: requests.PushSync) -> requests.SyncReport:
        """Send the changes of this home, and receive nothing.

        A note that another home changed too waits until changes are received.
        """
        from djinn_memory.sync.session import synchronize

        return synchronize(self.runtime, request, "push")

    @operation(requests.ListConflicts, rights="person")
    def conflicts(self, request: requests.ListConflicts) -> requests.ConflictList:
        """List the conflict copies of vaults. This needs no server.

        To settle a conflict, edit the note and delete the copy.
        """
        from djinn_memory.sync import session

        return session.conflicts(self.runtime, request)

    @operation(requests.VerifySync, patient=True, rights="person")
    def verify(self, request: requests.VerifySync) -> requests.SyncComparison:
        """Compare vaults with the server, and name what differs.

        The files are compared byte for byte, and the rows that follow from them row by row. Events
        are compared with the ledger, and the tables that follow from events with the events.
        """
        from djinn_memory.sync import session

        return session.verify(self.runtime, request)

    @operation(requests.BackfillSync, patient=True, rights="person")
    def backfill(self, request: requests.BackfillSync) -> requests.Backfilled:
        """Embed what this home has not embedded, and fill what its vaults lack on the server.

        With `all`, the rows of all notes and events are written again, and damaged bytes are
        restored. Raises `Unavailable` without an embedding model, and `Refused` if the server has
        another one.
        """
        from djinn_memory.sync.session import backfill

        return backfill(self.runtime, request)

    @operation(requests.ShowSyncStats, recover=False, rights="person")
    def stats(self, request: requests.ShowSyncStats) -> SyncStats:
        """Count the memories on the server, its documents by type, and its episodes.

        Without `all` only the vaults of this home that go to the server are counted.
        """
        with connected(self.runtime.home) as connection:
            scopes = _scopes(self.runtime, everything=request.all)
            with connection.reading() as tx:
                return queries.count_rows(tx, scopes)

    @operation(requests.SearchServerFacts, recover=False, rights="person", positional=("query",))
    def facts(self, request: requests.SearchServerFacts) -> requests.ServerFacts:
        """Search the facts on the server: by meaning, then by text.

        Without `all` only the vaults of this home that go to the server are searched.
        """
        with connected(self.runtime.home) as connection:
            return _search_facts(self.runtime, connection, request)
