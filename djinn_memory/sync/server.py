"""Prepares a Postgres server, makes a vault here and one there the same, and says what it has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError, current_wording
from djinn_memory.home import access
from djinn_memory.home.config import variable
from djinn_memory.home.home import Home
from djinn_memory.home.settings import Postgres
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger.sync_state import home_id_if_any
from djinn_memory.store.postgres import catalog, migrations, servers
from djinn_memory.store.postgres.connection import connect
from djinn_memory.store.postgres.migrations import VectorModel
from djinn_memory.store.postgres.scopes import Scope, homes, register, remove, scopes
from djinn_memory.sync import requests
from djinn_memory.sync.notes.derived import build_vector_index, require_embedder, require_model
from djinn_memory.sync.notes.link import scope_of
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


def going(home: Home, request: requests.InitSync) -> tuple[Vault, ...]:
    """The vaults that go to the server from now on: those of the settings, and those asked for."""
    names = [*request.vaults, *_named_scopes(request)]
    listed = [vault.name for vault in home.synced]
    return home.named([*listed, *names]) if names else home.synced


def _named_scopes(request: requests.InitSync) -> dict[str, str]:
    """The vaults to join, each with the id that the request names for it, else an empty text."""
    pairs = (text.partition("=") for text in request.join)
    return {name: scope.strip().lower() for name, _, scope in pairs}


def _adoptions(
    vaults: Sequence[Vault], known: Sequence[Scope], joined: Mapping[str, str]
) -> list[requests.AdoptedVault]:
    """The vaults that must become a vault of the server.

    These are the shared vault, if the server has another one, and those in `joined`. A vault of an
    agent is never joined by its name alone: two people may use the same one.
    """
    chosen: dict[str, str] = {}
    for vault in vaults:
        if vault.name in joined:
            chosen[vault.name] = _joined(vault, known, joined[vault.name])
        elif access.is_shared_name(vault.name):
            shared = [str(scope.user_id) for scope in known if access.is_shared_name(scope.name)]
            chosen[vault.name] = shared[0] if shared and vault.id not in shared else vault.id
    return [
        requests.AdoptedVault(vault.name, vault.id, chosen[vault.name])
        for vault in vaults
        if chosen.get(vault.name, vault.id) != vault.id
    ]


def _adopt(runtime: Runtime, adopted: requests.AdoptedVault) -> None:
    """Give a vault of this home its id on the server.

    The settings change last, so that an interrupted adoption is repeated as a whole.
    """
    state = runtime.state
    if ledger := state.ledger_if_any:
        ledger.rename_vault(adopted.before, adopted.scope)
    state.rename_vault(adopted.before, adopted.scope)
    runtime.home.edit((("vaults", adopted.name, "id"), adopted.scope))


def _joined(vault: Vault, known: Sequence[Scope], scope: str) -> str:
    """The id of the server's vault that a vault is joined with: `scope`, or the one of its name."""
    by_id = {str(each.user_id): each for each in known}
    if scope:
        if scope not in by_id:
            raise NotFound(
                f"{vault.name}={scope}: the server shows no such vault",
                Remedy("sync.status", {}, "list the vaults of the server"),
                argument="join",
            )
        return scope
    own = by_id.get(vault.id)
    others = [each for each in known if each.name == vault.name and str(each.user_id) != vault.id]
    if not others:
        if own:
            return vault.id
        raise NotFound(
            f"{vault.name}: the server shows no vault of this name",
            Remedy(arguments={"vaults": vault.name}, purpose="send it as a new vault"),
            argument="join",
        )
    if len(others) == 1 and not (own and own.rev):
        return str(others[0].user_id)
    listed = ", ".join(f"{each.user_id} ({count(each.notes, 'note')})" for each in others)
    also = f" besides {vault.id}, which this home uses" if own and own.rev else ""
    raise Refused(
        f"{vault.name}: the server has {listed}{also}",
        Remedy(arguments={"join": f"{vault.name}=ID"}, purpose="choose one"),
        argument="join",
    )


NO_MODEL = VectorModel("none", 384, 1.0, 0.0)
"""The model of a server whose first home embeds nothing."""


def prepare(runtime: Runtime, request: requests.InitSync) -> requests.PreparedServer:
    """See `Sync.init`."""
    home = runtime.home
    url = _chosen_url(home, request)
    vaults = going(home, request)
    for vault in vaults:
        # Refuses an id that is no UUID before anything changes.
        scope_of(vault)
    given = current_wording().argument("url")
    address = (
        servers.server_address(home)
        if url is None
        else servers.start_at(home, url, given, create=request.embedded)
    )
    own = _own_model(runtime)
    with closing(connect(address)) as connection:
        applied = migrations.migrate(connection, address, own or NO_MODEL)
        server = servers.ServerConnection(
            connection, address, migrations.state(connection, address)
        )
        if own and server.state.model.identity == NO_MODEL.identity:
            # No home has brought vectors yet.
            migrations.change_model(connection, address, own)
        elif own:
            require_model(server, own.identity)
        if request.distribute:
            with server.transaction() as cursor:
                catalog.distribute(cursor, address)
        with server.transaction() as cursor:
            if request.rls:
                catalog.change_in_order(cursor)
            adopted = _adoptions(vaults, scopes(cursor), _named_scopes(request))
            added = _register(cursor, vaults, adopted)
            if request.rls:
                catalog.secure_rows(cursor)
            # A role that does not own the tables cannot make the index of its vault.
            for scope in scopes(cursor):
                build_vector_index(runtime, cursor, scope.user_id)
            secured, distributed = catalog.is_secured(cursor), catalog.is_distributed(cursor)
        for adoption in adopted:
            _adopt(runtime, adoption)
        if request.vaults or request.join:
            home.edit((("sync", "vaults"), [vault.name for vault in vaults]))
        unused = _unused_folder(home, url)
        if url is not None:
            home.edit((("sync", "url"), url))
            home.trust([endpoint for endpoint in home.untrusted if endpoint.use == "sync"])
        with server.reading() as cursor:
            synced, others = _vaults(runtime, cursor)
    return requests.PreparedServer(
        str(address), applied, added, adopted, synced, others, secured, distributed,
        unused,
    )  # fmt: skip


def update(runtime: Runtime, request: requests.MigrateSync) -> requests.MigratedServer:
    """See `Sync.migrate`."""
    address = servers.server_address(runtime.home)
    if request.change_model:
        require_embedder(runtime)
    own = _own_model(runtime) if request.change_model else None
    with closing(connect(address)) as connection:
        if request.dry_run:
            pending, known, vectors = migrations.preview(connection, address)
            after = own or known
            gone = vectors if after.identity != known.identity else 0
            return requests.MigratedServer(
                str(address), pending, known.identity, after.identity, gone, dry_run=True
            )
        applied = migrations.migrate(connection, address, None)
        before = migrations.state(connection, address).model
        removed = 0
        if own and own.identity != before.identity:
            removed = migrations.change_model(connection, address, own)
        after = migrations.state(connection, address).model
    return requests.MigratedServer(str(address), applied, before.identity, after.identity, removed)


def describe(runtime: Runtime) -> requests.ServerStatus:
    """See `Sync.status`."""
    home = runtime.home
    own = runtime.models.embedder
    with servers.connected(home) as server, server.reading() as cursor:
        synced, others = _vaults(runtime, cursor)
        registered = {vault.scope for vault in synced}
        return requests.ServerStatus(
            str(server.address),
            servers.URL if variable(servers.URL) else "sync.url",
            catalog.postgres_version(cursor),
            catalog.extensions(cursor),
            server.state.version,
            server.state.model.identity,
            own.identity if own else None,
            catalog.is_secured(cursor),
            catalog.is_distributed(cursor),
            synced,
            [vault.name for vault in home.synced if vault.id not in registered],
            others,
        )


def goes_to_server(home: Home, vault: Vault) -> bool:
    """Whether the home has a server, and the vault is listed among those that go to it."""
    return bool(servers.configured_url(home)) and vault.name in (home.config.sync.vaults or ())


def remove_from_server(home: Home, vault: Vault) -> bool:
    """Remove a vault with all its rows from the server. Returns whether it was there.

    Raises `Unavailable` if the server does not answer.
    """
    with servers.connected(home) as server, server.transaction() as cursor:
        return remove(cursor, UUID(vault.id))


def _chosen_url(home: Home, request: requests.InitSync) -> str | None:
    """The value for `sync.url`; None if the address that is set already is used."""
    if request.url is None:
        if not request.embedded:
            if not servers.configured_url(home) and not home.untrusted:
                raise UsageError(
                    "no server is named",
                    Remedy(arguments={"url": None}, purpose="name one"),
                    Remedy(arguments={"embedded": True}, purpose="run one inside this home"),
                )
            return None
        _check_own_data(home)
        return servers.EMBEDDED
    if request.embedded:
        raise UsageError(
            "cannot be combined with an address; pass one of them", argument="embedded"
        )
    if re.search(r"//[^/@]*:[^/@]+@|password=", request.url):
        raise UsageError(
            "holds a password, which other users of this machine could see; "
            "leave it out and set PGPASSWORD, or write it into ~/.pgpass",
            argument="url",
        )
    try:
        return msgspec.convert(request.url, Postgres)
    except msgspec.ValidationError:
        # The text is not repeated: it may hold a password in a form that is not recognized.
        raise UsageError(
            "is no address of a Postgres server; "
            "write postgresql://user@host:5432/database, without a password",
            argument="url",
        ) from None


def _unused_folder(home: Home, url: str | None) -> str | None:
    """The folder of the server inside this home, if another one at `url` takes its place."""
    before = home.config.sync.url
    if url is None or url == servers.EMBEDDED or before != servers.EMBEDDED:
        return None
    return str(servers.embedded_folder(home, before))


def _check_own_data(home: Home) -> None:
    """Raise `Refused` for data of a server that came with a cloned home: it could run programs."""
    folder = servers.embedded_folder(home, servers.EMBEDDED)
    if folder and folder.exists() and home.config.sync.url != servers.EMBEDDED:
        raise Refused(
            f"{folder} holds a server that this home does not use; check where it comes from, "
            "then move it away"
        )


def _own_model(runtime: Runtime) -> VectorModel | None:
    """The embedding model of this home; None when it embeds nothing."""
    from djinn_memory.embedding.calibration import calibrate

    embedder = runtime.models.embedder
    if embedder is None:
        return None
    line = calibrate(embedder)
    return VectorModel(embedder.identity, embedder.dimensions, line.scale, line.shift)


def _register(
    cursor: Cursor, vaults: Sequence[Vault], adopted: Sequence[requests.AdoptedVault]
) -> list[str]:
    """Register the vaults that are new to the server, and return their names.

    A vault that becomes another one leaves nothing behind, if it was registered and never used.
    """
    by_id = {scope.user_id: scope for scope in scopes(cursor)}
    for adoption in adopted:
        before = by_id.get(UUID(adoption.before))
        if before and not before.rev:
            remove(cursor, before.user_id)
    ids = {adoption.name: adoption.scope for adoption in adopted}
    return [
        vault.name
        for vault in vaults
        if register(cursor, UUID(ids.get(vault.name, vault.id)), vault.name)
    ]


def _vaults(
    runtime: Runtime, cursor: Cursor
) -> tuple[list[requests.SyncedVault], list[requests.SyncedVault]]:
    """The vaults of this home that go to the server and are there, and the others there."""
    known = {str(scope.user_id): scope for scope in scopes(cursor)}
    own = {vault.id: vault.name for vault in runtime.home.synced}
    listed = [(own.get(key, known[key].name), known[key]) for key in (*own, *known) if key in known]

    entries = {
        str(scope.user_id): requests.SyncedVault(
            name,
            str(scope.user_id),
            scope.rev,
            scope.notes,
            server_homes(runtime, cursor, scope.user_id),
        )
        for name, scope in listed
    }
    return (
        [entry for key, entry in entries.items() if key in own],
        [entry for key, entry in entries.items() if key not in own],
    )


def server_homes(runtime: Runtime, cursor: Cursor, scope: UUID) -> list[requests.ServerHome]:
    """The homes that synchronize a vault of the server, the one seen last first."""
    ledger = runtime.state.ledger_if_any
    own = home_id_if_any(ledger) if ledger else None
    active = runtime.now() - timedelta(days=runtime.home.config.sync.keep_days)
    return [
        requests.ServerHome(str(home), name, moment(seen), rev, unread, seen > active, home == own)
        for home, name, rev, seen, unread in homes(cursor, scope, runtime.now())
    ]
