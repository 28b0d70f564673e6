"""Runs synchronization for the vaults of a home that go to its server, and lets it forget vaults.

One process of a home at a time does this.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.errors import NotFound, Refused, Remedy, Unavailable, UsageError
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import index
from djinn_memory.memories.changes.commit import recover
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.vault import attachments
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.memories import contents
from djinn_memory.store.ledger.sync_state import bases
from djinn_memory.store.postgres.notes import listen, prune_history
from djinn_memory.store.postgres.scopes import Scope, remove, remove_home, scopes
from djinn_memory.store.postgres.scopes import names as scope_names
from djinn_memory.store.postgres.servers import ServerConnection, connected
from djinn_memory.sync import events, requests
from djinn_memory.sync.keys import record_keys
from djinn_memory.sync.notes.derived import require_embedder, require_model
from djinn_memory.sync.notes.files import BaseTexts, VaultFiles
from djinn_memory.sync.notes.link import VaultLink, scope_of, unregistered
from djinn_memory.sync.notes.listing import find_copies
from djinn_memory.sync.run import Direction, exchange
from djinn_memory.sync.server import server_homes
from djinn_memory.sync.verification import compare, fill, restore
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


def synchronize(
    runtime: Runtime, request: requests.PullSync, direction: Direction
) -> requests.SyncReport:
    """Synchronize vaults. Raises `Busy` if another process does."""
    if not request.dry_run:
        recover(runtime.state)
        record_keys(runtime)
    with locked(runtime.home), connected(runtime.home) as server:
        vaults = _chosen(runtime, request.vaults)
        missing = _unregistered(server, vaults)
        if len(missing) == len(vaults):
            raise unregistered(server.address, vaults[0])
        links = [linked(runtime, server, vault) for vault in vaults if vault.name not in missing]
        for link in links:
            link.deletes_many = isinstance(request, requests.PushSync) and request.delete_many
        results = [exchange(link, direction, dry_run=request.dry_run) for link in links]
        # Events may quote notes of another vault, which are purged by now.
        waits = any(link.purges_wait for link in links)
        for link, result in zip(links, results, strict=True):
            if not request.dry_run:
                counts = _follow(link, direction, events_wait=waits)
                result.events_received, result.events_sent = counts
    problems = [problem for link in links for problem in link.problems]
    return requests.SyncReport(results, request.dry_run, missing, problems)


def _follow(link: VaultLink, direction: Direction, *, events_wait: bool) -> tuple[int, int]:
    """Exchange events after the notes, and bring up to date the rows that follow from both.

    Returns the number of new events here, and on the server.
    """
    if direction != "pull":
        fill(link, "rows")
    exchanged = 0, 0
    if events_wait:
        why = "wait, because they may quote what another home purged; run `djinn sync run`"
        link.add(Problem(f"{link.vault.name}: events", why))
    else:
        exchanged = events.exchange(link, direction)
    if direction != "pull":
        keep_days = link.runtime.home.config.sync.keep_days
        with link.server.transaction() as cursor:
            prune_history(cursor, link.scope, keep_days)
    return exchanged


def conflicts(runtime: Runtime, request: requests.ListConflicts) -> requests.ConflictList:
    """List the conflict copies of vaults, without the server."""
    copies: list[requests.ConflictCopy] = []
    for vault in _chosen(runtime, request.vaults):
        runtime.refresh([vault])
        notes = {path: uid for path, _, _, uid in contents(runtime.state.index, vault)}
        others = attachments(vault, runtime.home.config.exclude)
        ledger = runtime.state.ledger_if_any
        known = bases(ledger, scope_of(vault)) if ledger else {}
        copies += [
            requests.ConflictCopy(vault.name, path, original)
            for path, original in find_copies({**dict.fromkeys(others), **notes}, known)
        ]
    return requests.ConflictList(copies)


def verify(runtime: Runtime, request: requests.VerifySync) -> requests.SyncComparison:
    """Compare vaults with the server, byte for byte."""
    compared, drifts = 0, list[requests.Drift]()
    with locked(runtime.home), connected(runtime.home) as server:
        vaults = _chosen(runtime, request.vaults)
        missing = _unregistered(server, vaults)
        for vault in vaults:
            if vault.name in missing:
                drifts.append(requests.Drift(vault.name, None, "is not on the server"))
            else:
                number, differing = compare(linked(runtime, server, vault))
                compared += number
                drifts += differing
    return requests.SyncComparison(compared, drifts)


def backfill(runtime: Runtime, request: requests.BackfillSync) -> requests.Backfilled:
    """Embed what this home has not embedded, and fill what its vaults lack on the server.

    Each batch of notes is a transaction. Raises `Unavailable` without an embedding model, and
    `Refused` if the server has vectors of another one.
    """
    embedder = require_embedder(runtime)
    filled, left = 0, 0
    with locked(runtime.home), connected(runtime.home) as server:
        vaults = runtime.home.synced
        require_model(server, embedder.identity)
        report = index(
            runtime.state, runtime.models, vaults,
            whole=False, rebuild=False, progress=runtime.progress,
        )  # fmt: skip
        for vault in vaults:
            link = linked(runtime, server, vault)
            done, skipped = fill(link, "everything" if request.all else "vectors", request.batch)
            filled, left = filled + done, left + skipped
            if request.all:
                restore(link)
    return requests.Backfilled(filled, left, tuple(report.problems))


def wait_for_changes(runtime: Runtime) -> None:
    """Wait until a server announces a change, at most `sync.seconds`.

    An announcement may be lost, and says nothing about files: the next run finds every change.
    """
    sync, scopes = runtime.home.config.sync, {vault.id for vault in runtime.home.synced}
    try:
        with connected(runtime.home) as server:
            listen(server.connection, server.address, scopes, sync.seconds)
    except Unavailable:
        time.sleep(sync.seconds)


def _chosen(runtime: Runtime, names: Sequence[str]) -> list[Vault]:
    """The vaults with these names, or all that go to the server."""
    synced = {vault.name: vault for vault in runtime.home.synced}
    for vault in runtime.home.named(names) if names else ():
        if vault.name not in synced:
            raise Refused(
                f"vault {vault.name} does not go to the server",
                Remedy("sync.init", {"vaults": vault.name}, "send it there"),
            )
    if not synced:
        raise NotFound(
            "no vault of this home goes to the server",
            Remedy("sync.init", {"vaults": None}, "send one there"),
        )
    return [synced[name] for name in dict.fromkeys(names)] or list(synced.values())


def _unregistered(server: ServerConnection, vaults: Sequence[Vault]) -> list[str]:
    """The names of those vaults that the server does not have, or does not show to this role."""
    with server.reading() as cursor:
        known = {scope for scope, _ in scope_names(cursor)}
    return [vault.name for vault in vaults if scope_of(vault) not in known]


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Keep other processes of a home from its server. Raises `Busy` if one is exchanging with it.

    The settings are read again: the process before may have removed a vault.
    """
    with lock(home.state / "sync.lock", timeout=2):
        home.reread()
        yield


def linked(runtime: Runtime, server: ServerConnection, vault: Vault) -> VaultLink:
    """A vault of a home and its scope on a server."""
    settings = runtime.home.config.sync
    texts = BaseTexts(runtime.home.state / "sync-texts" / vault.id)
    return VaultLink(
        runtime, server, vault, scope_of(vault), socket.gethostname(), VaultFiles(vault),
        attachment_bytes=settings.attachments_mb * 1_000_000,
        base_texts=texts if settings.merge == "clean" else None,
    )  # fmt: skip


def forget(runtime: Runtime, request: requests.ForgetSync) -> requests.ForgottenSync:
    """See `Sync.forget`."""
    if request.vault and request.home:
        raise UsageError(
            f"{request.home}: cannot be combined with a vault; name one of them", argument="home"
        )
    if not (request.vault or request.home):
        raise UsageError(
            "neither a vault nor a home is named",
            Remedy(arguments={"vault": None}, purpose="remove a vault from the server"),
            Remedy(arguments={"home": None}, purpose="forget a home"),
        )
    home = runtime.home
    with locked(home), connected(home) as server:
        with server.reading() as cursor:
            if request.vault:
                vaults = [_vault(runtime, cursor, request.vault)]
                gone = None
            else:
                vaults, gone = _of_home(runtime, cursor, request.home or "")
        if not request.dry_run:
            _remove(server, [UUID(vault.scope) for vault in vaults], gone)
            if gone is None:
                _unlist(home, vaults[0].scope)
    return requests.ForgottenSync(str(server.address), vaults, gone, not request.dry_run)


def _remove(server: ServerConnection, vaults: Sequence[UUID], home: str | None) -> None:
    with server.transaction() as cursor:
        for scope in vaults:
            if home is None:
                remove(cursor, scope)
            else:
                remove_home(cursor, scope, UUID(home))


def _unlist(home: Home, scope: str) -> None:
    """Take a vault out of `sync.vaults`, so that the next `init` does not send it again."""
    listed = [vault.name for vault in home.synced]
    kept = [vault.name for vault in home.synced if vault.id != scope]
    if kept != listed:
        home.edit((("sync", "vaults"), kept))


def _vault(runtime: Runtime, cursor: Cursor, name: str) -> requests.ForgottenVault:
    """The vault of the server with a name in this home, an id, or a name on the server."""
    known = scopes(cursor)
    own = {vault.name: vault.id for vault in runtime.home.vaults}
    chosen = [scope for scope in known if str(scope.user_id) in (name.lower(), own.get(name))]
    if not chosen and name not in own:
        # A vault of another home is never meant by the name of one that is here.
        chosen = [scope for scope in known if scope.name == name]
    for vault in () if chosen else runtime.home.synced:
        if name in (vault.name, vault.id):
            # Another home removed it, or this one was killed before it changed its settings.
            return requests.ForgottenVault(vault.name, vault.id, 0, [], on_server=False)
    listed = [f"{scope.user_id} ({count(scope.notes, 'note')})" for scope in chosen]
    _check_single(name, "vault", listed)
    return _entry(chosen[0], server_homes(runtime, cursor, chosen[0].user_id))


def _of_home(
    runtime: Runtime, cursor: Cursor, name: str
) -> tuple[list[requests.ForgottenVault], str]:
    """The vaults that a home synchronizes, given its name or id, and its id."""
    listed = [(scope, server_homes(runtime, cursor, scope.user_id)) for scope in scopes(cursor)]
    every = {home.id: home for _, homes in listed for home in homes}
    chosen = [key for key, home in every.items() if name.lower() == key or name == home.name]
    _check_single(name, "home", [f"{key} (last seen {every[key].seen})" for key in chosen])
    return [
        _entry(scope, [home for home in homes if home.id == chosen[0]])
        for scope, homes in listed
        if any(home.id == chosen[0] for home in homes)
    ], chosen[0]


def _check_single(name: str, kind: str, chosen: Sequence[str]) -> None:
    """Raise an error unless a name means one vault, or one home, of the server."""
    if not chosen:
        raise NotFound(
            f"{name}: the server shows no such {kind}",
            Remedy("sync.status", {}, "list the vaults and homes of the server"),
            argument=kind,
        )
    if len(chosen) > 1:
        raise Refused(
            f"{name}: the server has several {kind}s of this name: {', '.join(chosen)}; "
            "pass the id of one",
            argument=kind,
        )


def _entry(scope: Scope, homes: Sequence[requests.ServerHome]) -> requests.ForgottenVault:
    return requests.ForgottenVault(scope.name, str(scope.user_id), scope.notes, homes)
