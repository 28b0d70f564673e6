"""djinn sync: commands about a Postgres server, and about the contents of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.postgres.queries import SyncStats
    from djinn_memory.sync import requests


@command(
    "sync.init",
    progress=True,
    fields={"url": Field("URL"), "join": Field("NAME", candidates.vaults)},
)
def _init(call: Call, answer: requests.PreparedServer) -> None:
    """Prepare a Postgres server and join it.

    The tables are created, the vaults that go to the server are registered, and the server's
    address is written into config.yaml. If the server has a shared vault already, the shared vault
    of this home becomes the same vault. All notes stay, and none is sent before the first
    `djinn sync run`.

    Only the shared vault goes to the server, unless `--vault` or `--join` names others, which are
    added to `sync.vaults`. The last two examples share your own vault between two machines: the
    first machine sends it, and the second joins it.

    Examples:
        djinn sync init --embedded
        djinn sync init --url postgresql://me@db.example.com/memory --vault me
        djinn sync init --url postgresql://me@db.example.com/memory --join me
    """
    say(f"{clean(answer.server)}: {_tables(answer.applied)}")
    for adopted in answer.adopted:
        say(
            f"vault {clean(adopted.name)} is now the vault {adopted.scope} of the server "
            f"(its id was {adopted.before}); its notes stay"
        )
    _print_vaults(answer.vaults)
    for name in {vault.name for vault in answer.others} & set(answer.added):
        talk(
            f"The server has another vault {clean(name)}. If it is yours, make both one vault: "
            f"`djinn sync init --join {clean(name)}`."
        )
    if answer.row_security:
        say("each role of the server sees only the vaults granted to it")
    if answer.distributed:
        say("the tables are distributed by vault")
    if answer.unused:
        talk(
            f"The server that this home used before is still in {clean(answer.unused)}. Delete the "
            "folder when no other home uses it and all that you need is on the new server."
        )
    talk("Next: `djinn sync run`.")


def _run_migrate(call: Call) -> Any:
    preview = call.run(dry_run=True)
    if call.request.dry_run:
        return preview
    if preview.model != preview.model_before:
        about = (
            f"{preview.server} changes from the model {preview.model_before} to {preview.model}, "
            f"and {count(preview.vectors_removed, 'vector')} of {preview.model_before} "
            f"{'is' if preview.vectors_removed == 1 else 'are'} removed"
        )
        if not call.confirmed("Change the model of the server?", about):
            return preview
    return call.run()


@command("sync.migrate", view=Confirm, run=_run_migrate)
def _migrate(call: Call, answer: requests.MigratedServer) -> None:
    """Update the tables of the server to this version of djinn.

    With `--change-model`, the server changes to the embedding model of this home. Searches on the
    server find words only, until `djinn sync backfill` has filled its vectors.

    Examples:
        djinn sync migrate
        djinn sync migrate --change-model --dry-run
    """
    server = clean(answer.server)
    if answer.dry_run and answer.applied:
        scripts = count(len(answer.applied), "schema script")
        say(f"{server}: would run {scripts}: {', '.join(answer.applied)}")
    else:
        say(f"{server}: {_tables(answer.applied)}")
    if answer.model != answer.model_before:
        removed = count(answer.vectors_removed, "vector")
        if answer.dry_run:
            say(f"would change its model to {answer.model}, and remove {removed}")
        else:
            say(f"its model is {answer.model}; {removed} of {answer.model_before} removed")
            talk("Next: `djinn sync backfill` here, and in homes with vaults that this one lacks.")
    elif call.request.change_model:
        say(f"its model is {answer.model} already")


def _tables(applied: Sequence[str]) -> str:
    return "tables created or updated" if applied else "tables are up to date"


@command("sync.status")
def _status(call: Call, answer: requests.ServerStatus) -> None:
    """Show the server, its versions, its vaults and their homes.

    For each vault, a line for each home shows when the home last synchronized it, and which
    revision the home has read. The server keeps a deletion until every home that was seen in the
    last `sync.keep_days` days has read it. `djinn sync forget --home` forgets a lost home.

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
    _print_homes(answer.vaults)
    if not (answer.vaults or answer.unregistered):
        say("no vault of this home goes to the server; run `djinn sync init --vault NAME`")
    for name in answer.unregistered:
        say(f"vault {clean(name)}: not on the server; run `djinn sync init`")
    if answer.others:
        say("Other vaults of the server:")
        _print_vaults(answer.others)
        _print_homes(answer.others)
        talk("To make one of them the same vault as yours: `djinn sync init --join NAME=ID`.")


def _run_forget(call: Call) -> Any:
    preview = call.run(dry_run=True)
    vault = preview.vaults[0]
    if not vault.on_server:
        about = f"{preview.server} has no vault {vault.name}; it leaves sync.vaults in this home"
        question = "Keep the vault here only?"
    elif preview.home is None:
        about = (
            f"this removes vault {vault.name} ({vault.scope}) with {count(vault.notes, 'note')} "
            f"from {preview.server}; the files in {count(len(vault.homes), 'home')} stay"
        )
        question = "Remove the vault from the server?"
    else:
        home = vault.homes[0]
        about = (
            f"{preview.server} forgets home {home.name} ({home.id}), last seen {home.seen}; "
            "its files stay"
        )
        question = "Forget the home?"
    if call.declined(question, about):
        return preview
    return call.run(vault=None if preview.home else vault.scope, home=preview.home)


@command(
    "sync.forget",
    view=Confirm,
    run=_run_forget,
    fields={"vault": Field("NAME", candidates.vaults), "home": Field("NAME")},
)
def _forget(call: Call, answer: requests.ForgottenSync) -> None:
    """Remove a vault from the server, or the record of a lost home.

    `--vault` removes a vault with all its rows from the server, and from `sync.vaults` in this
    home. After `--home`, the server no longer keeps deletions for that home. If the home comes
    back, it compares everything and deletes nothing. In both cases the files in all homes stay.

    Examples:
        djinn sync forget --home old-laptop
        djinn sync forget --vault me --dry-run
    """
    verb = "removed" if answer.removed else "would remove"
    forgot = "forgot" if answer.removed else "would forget"
    for vault in answer.vaults:
        if not vault.on_server:
            leaves = "left" if answer.removed else "would leave"
            say(clean(f"{answer.server} has no vault {vault.name}; it {leaves} sync.vaults"))
        elif answer.home is None:
            notes = count(vault.notes, "note")
            say(clean(f"{verb} vault {vault.name} ({notes}) from {answer.server}; files stay"))
        else:
            [home] = vault.homes
            say(clean(f"{forgot} home {home.name} of vault {vault.name}"))


@command("sync.backfill", progress=True)
def _backfill(call: Call, answer: requests.Backfilled) -> None:
    """Fill the vectors and rows that the server lacks.

    This home embeds what it has not embedded yet, and writes the vectors and rows of its notes. A
    note whose version here differs from that on the server is left alone. With `--all`, the rows of
    all notes and events are written again, and damaged bytes are restored. This repairs the
    differences for which `djinn sync verify` names this command.

    Examples:
        djinn sync backfill
        djinn sync backfill --batch 100
    """
    say(f"{count(answer.notes, 'note')} filled, {answer.left:,} left")


@command("sync.stats")
def _stats(call: Call, answer: SyncStats) -> None:
    """Count the memories on the server.

    Notes, episodes, patterns, entities, chunks of documents and facts are counted, and how many of
    them have a vector.

    Examples:
        djinn sync stats
        djinn sync stats --all
    """
    output.columns(
        (kind.kind, f"{kind.total:,}", f"{kind.with_embedding:,} with an embedding")
        for kind in answer.memories
    )
    say(f"notes: {answer.notes:,}")
    for kind in answer.documents:
        name = clean(kind.document_type or "no type")
        say(f"{name}: {count(kind.documents, 'document')}, {count(kind.chunks, 'chunk')}")
    episodes = count(answer.consolidated + answer.unconsolidated, "episode")
    say(f"consolidated: {answer.consolidated:,} of {episodes}")


@command("sync.facts", fields={"query": Field(words=True)})
def _facts(call: Call, answer: requests.ServerFacts) -> None:
    """Search the facts on the server.

    Facts that are near the question in meaning come first, then those that contain its text.

    Examples:
        djinn sync facts "where does Maren live"
        djinn sync facts --all city
    """
    rows = [
        (f"{fact.vault}: {fact.category}/{fact.key}", " ".join(fact.value.split()))
        for fact in answer.facts
    ]
    output.columns(rows, empty="No facts.")


def _print_vaults(vaults: Iterable[requests.SyncedVault]) -> None:
    """Print a line for each vault."""
    output.columns(
        (
            f"vault {vault.name}",
            vault.scope,
            count(vault.notes, "note"),
            count(len(vault.homes), "home"),
            f"revision {vault.rev}",
        )
        for vault in vaults
    )


def _print_homes(vaults: Iterable[requests.SyncedVault]) -> None:
    """Print a line for each home of each vault."""
    output.columns(
        (
            f"home {home.name}",
            home.id,
            f"vault {vault.name}",
            f"last seen {home.seen}",
            f"revision {home.rev}{_remarks(home)}",
        )
        for vault in vaults
        for home in vault.homes
    )


def _remarks(home: requests.ServerHome) -> str:
    state = "kept for it" if home.awaited else "not read"
    remarks = ["this home"] * home.own
    remarks += [f"{count(home.unread, 'deletion')} {state}"] * bool(home.unread)
    return f" ({', '.join(remarks)})" if remarks else ""
