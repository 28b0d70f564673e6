"""djinn sync init, migrate, status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from djinn_memory.cli import output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.sync.requests import (
    InitSync,
    MigratedServer,
    MigrateSync,
    PreparedServer,
    ServerStatus,
    ShowSyncStatus,
    SyncedVault,
)
from djinn_memory.system.plural import count


@command("sync.init", InitSync, fields={"url": Field("URL")})
def init(call: Call, answer: PreparedServer) -> None:
    """Prepare a Postgres server and join it.

    The tables are created, the vaults that go to the server are registered, and its address is
    written into config.yaml. If the server has a shared vault already, the shared vault of this
    home becomes the same vault. All notes stay, and none is sent before the first `djinn sync run`.

    Examples:
        djinn sync init --embedded
        djinn sync init --url postgresql://me@db.example.com/memory
    """
    say(f"{clean(answer.server)}: {_tables(answer.applied)}")
    for adopted in answer.adopted:
        say(
            f"vault {clean(adopted.name)} is now the vault {adopted.scope} of the server "
            f"(its id was {adopted.before}); its notes stay"
        )
    _print_vaults(answer.vaults)
    if answer.row_security:
        say("each role of the server sees only the vaults granted to it")
    if answer.distributed:
        say("the tables are distributed by vault")
    talk("Next: `djinn sync run`.")


def _migrate(call: Call) -> MigratedServer | None:
    about = "the vectors on the server are removed; homes with this model fill them again"
    if call.request.model and not call.confirmed("Change the model of the server?", about):
        return None
    answer: MigratedServer = call.run()
    return answer


@command("sync.migrate", MigrateSync, view=Confirm, run=_migrate)
def migrate(call: Call, answer: MigratedServer) -> None:
    """Update the tables of the server to this version of djinn.

    With `--model`, the server changes to the embedding model of this home. Searches on the server
    find words only, until homes with this model have filled its vectors.

    Examples:
        djinn sync migrate
        djinn sync migrate --model
    """
    say(f"{clean(answer.server)}: {_tables(answer.applied)}")
    if answer.model != answer.model_before:
        removed = count(answer.vectors_removed, "vector")
        say(f"its model is {answer.model}; {removed} of {answer.model_before} removed")
        talk("Next: `djinn sync run` in each home.")


@command("sync.status", ShowSyncStatus)
def status(call: Call, answer: ServerStatus) -> None:
    """Show the server, its versions and its vaults.

    Examples:
        djinn sync status
    """
    versions = [f"{name} {version}" for name, version in answer.extensions.items()]
    own = answer.own_model
    other = f"; this home uses {own}" if own not in (None, answer.model) else ""
    say(f"server   {clean(answer.server)}, from {answer.source}")
    say(f"versions PostgreSQL {answer.postgres}, {', '.join(versions)}")
    say(f"schema   {answer.schema_version}")
    say(f"model    {answer.model}{other}")
    traits = ["row-level security"] * answer.row_security + ["Citus"] * answer.distributed
    if traits:
        say(f"traits   {', '.join(traits)}")
    _print_vaults(answer.vaults)
    for name in answer.unregistered:
        say(f"vault {clean(name)}: not on the server; run `djinn sync init`")
    if answer.others:
        say("Other vaults of the server:")
        _print_vaults(answer.others)


def _tables(applied: Sequence[str]) -> str:
    return "tables created or updated" if applied else "tables are up to date"


def _print_vaults(vaults: Iterable[SyncedVault]) -> None:
    output.columns(
        [
            [
                f"vault {vault.name}",
                vault.scope,
                count(vault.notes, "note"),
                count(vault.homes, "home"),
                f"revision {vault.rev}",
            ]
            for vault in vaults
        ]
    )
