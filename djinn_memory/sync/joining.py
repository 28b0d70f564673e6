"""Makes a vault of this home and a vault of the server the same vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from djinn_memory.errors import NotFound, Refused, Remedy
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.models import Vault
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres.scopes import Scope
from djinn_memory.sync.requests import AdoptedVault, InitSync
from djinn_memory.system.plural import count


def going(home: Home, request: InitSync) -> tuple[Vault, ...]:
    """The vaults that go to the server from now on: those of the settings, and those asked for."""
    names = [*request.vaults, *named_scopes(request)]
    listed = [vault.name for vault in home.synced]
    return home.named([*listed, *names]) if names else home.synced


def named_scopes(request: InitSync) -> dict[str, str]:
    """The vaults to join, each with the id that the request names for it, else an empty text."""
    pairs = (text.partition("=") for text in request.join)
    return {name: scope.strip().lower() for name, _, scope in pairs}


def adoptions(
    vaults: Sequence[Vault], known: Sequence[Scope], joined: Mapping[str, str]
) -> list[AdoptedVault]:
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
        AdoptedVault(vault.name, vault.id, chosen[vault.name])
        for vault in vaults
        if chosen.get(vault.name, vault.id) != vault.id
    ]


def adopt(runtime: Runtime, adopted: AdoptedVault) -> None:
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
