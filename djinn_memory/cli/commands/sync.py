"""djinn sync: commands that exchange vaults with a Postgres server, and compare both sides."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Meta, Struct

from djinn_memory.cli import output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, place, say, talk
from djinn_memory.errors import Unavailable
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.sync import requests


def _is_incomplete(answer: requests.SyncReport) -> bool:
    waits = any(exchanged.waiting for exchanged in answer.vaults)
    return bool(waits or answer.unregistered) and not answer.dry_run


class _WatchSync(Struct, frozen=True):
    """The option that keeps a run going."""

    watch: Annotated[
        bool,
        Meta(
            description="Run again when another home changes something, and every sync.seconds "
            "seconds, until you stop it."
        ),
    ] = False


def _watch(call: Call) -> None:
    """Run again and again, if the user wants that, until Ctrl-C."""
    if not call.view.watch:
        return
    from djinn_memory.sync.session import wait_for_changes

    announced = False
    try:
        while True:
            try:
                report = call.run()
            except Unavailable as error:
                talk(f"warning: {clean(str(error))}")
            else:
                _print_watched(call, report)
            if not announced:
                announced = True
                talk("Waiting for changes. Stop with Ctrl-C.")
            wait_for_changes(call.djinn.runtime)
    except KeyboardInterrupt:
        # The next run resumes the work that this one did not finish, as after a kill.
        raise typer.Exit from None


def _print_watched(call: Call, report: requests.SyncReport) -> None:
    """Print what a run changed. A run that changed nothing is silent."""
    output.problems(report.problems)
    if call.json:
        output.as_json("sync.run", report, indent=None)
    elif any(_counts(exchanged) for exchanged in report.vaults):
        _print_exchange(report)
    sys.stdout.flush()


@command("sync.run", view=_WatchSync, prepare=_watch, progress=True, failed=_is_incomplete)
def _run(call: Call, answer: requests.SyncReport) -> None:
    """Receive the changes of other homes, then send those of this home.

    Notes, attachments up to `sync.attachments_mb`, and the ledger's events are exchanged for the
    vaults in `sync.vaults`. A note that was changed here and elsewhere keeps the server's text; the
    text of this home becomes a copy named `... (conflict HOST HASH).md` beside it. An edit beats a
    deletion. A note deleted elsewhere goes to the trash here. An interrupted run is resumed.

    Examples:
        djinn sync run
        djinn sync run --dry-run
        djinn sync run --watch
    """
    _print_exchange(answer)


@command("sync.pull", progress=True, failed=_is_incomplete)
def _pull(call: Call, answer: requests.SyncReport) -> None:
    """Receive the changes of other homes.

    Nothing is sent.

    Examples:
        djinn sync pull
        djinn sync pull --dry-run --vault shared
    """
    _print_exchange(answer)


@command("sync.push", progress=True, failed=_is_incomplete)
def _push(call: Call, answer: requests.SyncReport) -> None:
    """Send the changes of this home.

    No file changes here. A note that another home changed too waits for `djinn sync run`.

    Examples:
        djinn sync push
    """
    _print_exchange(answer)


@command("sync.conflicts")
def _conflicts(call: Call, answer: requests.ConflictList) -> None:
    """List the notes that were changed in two homes.

    Each line names the copy with the text of one home, and the note with the other text. To settle
    a conflict, edit the note and delete the copy.

    Examples:
        djinn sync conflicts
    """
    if not answer.conflicts:
        talk("No conflicts.")
    for conflict in answer.conflicts:
        original = conflict.original or "(the note is gone)"
        say(clean(f"{place(conflict)}  ->  {original}"))


@command("sync.verify", progress=True, failed=lambda answer: bool(answer.drifts))
def _verify(call: Call, answer: requests.SyncComparison) -> None:
    """Compare the vaults with the server, byte for byte and row by row.

    Notes and attachments are compared byte for byte. For equal notes, the rows on the server are
    compared with what the note says. Events are compared with the ledger, and the tables about
    recalls, ratings, gaps and sessions with the events. Each difference is printed on one line. The
    command exits with 1 if there is any.

    Examples:
        djinn sync verify
    """
    for drift in answer.drifts:
        if drift.path:
            say(clean(f"{place(drift)} {drift.why}"))
        elif drift.table:
            say(clean(f"{drift.vault}: table {drift.table} {drift.why}"))
        else:
            say(_not_there(drift.vault))
    say(f"{count(answer.compared, 'file')} compared, {count(len(answer.drifts), 'difference')}")


def _counts(exchanged: requests.VaultExchange) -> list[str]:
    """The changes of a run in a vault, such as `2 files received`."""
    numbers = (
        (exchanged.received, "received"),
        (exchanged.removed, "removed here"),
        (exchanged.sent, "sent"),
        (exchanged.withdrawn, "deleted on the server"),
    )
    counts = [f"{count(number, 'file')} {words}" for number, words in numbers if number]
    if exchanged.events_received:
        counts.append(f"{count(exchanged.events_received, 'event')} received")
    if exchanged.events_sent:
        counts.append(f"{count(exchanged.events_sent, 'event')} sent")
    return counts


def _not_there(vault: str) -> str:
    """The line for a vault that the server does not have."""
    return clean(
        f"{vault}: not on the server; run `djinn sync init` to send it there, "
        f"or `djinn sync forget --vault {vault}` to keep it here only"
    )


def _print_exchange(report: requests.SyncReport) -> None:
    for exchanged in report.vaults:
        counts = ", ".join(_counts(exchanged)) or "no changes"
        dry = " (dry run)" if report.dry_run else ""
        say(f"{clean(exchanged.vault)}: {counts}{dry}")
        for path in exchanged.conflicts:
            say(clean(f"  conflict: {path}"))
        for path in exchanged.waiting:
            say(clean(f"  waits: {path}"))
        for path in exchanged.too_large:
            say(clean(f"  larger than sync.attachments_mb: {path}"))
        for file in exchanged.elsewhere:
            say(clean(f"  too large to be sent, only in home {file.home}: {file.path}"))
    for vault in report.unregistered:
        say(_not_there(vault))
    if any(exchanged.conflicts for exchanged in report.vaults):
        talk("Next: `djinn review --kind conflict` takes one text of each conflict.")
