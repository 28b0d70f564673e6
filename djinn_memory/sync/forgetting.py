"""Removes a vault from a server, or the record of a home. Files of homes stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError
from djinn_memory.home.home import Home
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres.scopes import Scope, remove, remove_home, scopes
from djinn_memory.store.postgres.servers import ServerConnection, connected
from djinn_memory.sync.requests import ForgetSync, ForgottenSync, ForgottenVault, ServerHome
from djinn_memory.sync.server import server_homes
from djinn_memory.sync.session import locked
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


def forget(runtime: Runtime, request: ForgetSync) -> ForgottenSync:
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
    return ForgottenSync(str(server.address), vaults, gone, not request.dry_run)


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


def _vault(runtime: Runtime, cursor: Cursor, name: str) -> ForgottenVault:
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
            return ForgottenVault(vault.name, vault.id, 0, [], on_server=False)
    listed = [f"{scope.user_id} ({count(scope.notes, 'note')})" for scope in chosen]
    _check_single(name, "vault", listed)
    return _entry(chosen[0], server_homes(runtime, cursor, chosen[0].user_id))


def _of_home(runtime: Runtime, cursor: Cursor, name: str) -> tuple[list[ForgottenVault], str]:
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


def _entry(scope: Scope, homes: Sequence[ServerHome]) -> ForgottenVault:
    return ForgottenVault(scope.name, str(scope.user_id), scope.notes, homes)
