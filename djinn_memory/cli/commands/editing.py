"""djinn memory edit, rename, move, versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.commands.open import start_editor
from djinn_memory.cli.output import clean, place, say
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.changes.requests import NoteVersions
    from djinn_memory.memories.editing.requests import LinksLeft, MemoryEdit, MemoryMove

NAME = Field(complete=candidates.titles)


@command("memories.rename", fields={"name": NAME})
def _rename(call: Call, answer: MemoryMove) -> None:
    """Give a note another title and file name. Every link to it follows.

    Links in journals and in read-only vaults stay, and lead to the note by an alias. `djinn undo`
    takes all of it back.

    Examples:
        djinn memory rename "Harbour lamp" "Pier lamp"
        djinn memory rename inbox/old-idea.md "A better idea" --dry-run
    """
    _print_move(call, answer)


@command("memories.move", fields={"name": NAME, "to": Field("FOLDER|VAULT")})
def _move(call: Call, answer: MemoryMove) -> None:
    """Move a note to another folder or vault. Every link to it follows.

    Its earlier versions move too. `djinn undo` takes all of it back.

    Examples:
        djinn memory move "Harbour lamp" projects/harbour
        djinn memory move "Harbour lamp" shared
        djinn memory move "Harbour lamp" shared:projects --dry-run
    """
    _print_move(call, answer)


def _run_edit(call: Call) -> Any:
    given = call.values
    options = (given[name] for name in ("fields", "tags", "untag", "dry_run"))
    if any(options) or given["status"] is not None:
        return call.run()
    from djinn_memory.memories.editing.requests import MemoryEdit

    before = call.run("memories.find")
    start_editor(Path(before.file))
    after = call.run("memories.find", name=before.address)
    return MemoryEdit(after.vault, after.path, after.digest != before.digest, "")


@command(
    "memories.edit",
    fields={"name": NAME, "fields": Field("KEY=VALUE"), "untag": Field("TAG", candidates.tags)},
    run=_run_edit,
)
def _edit(call: Call, answer: MemoryEdit) -> None:
    """Open a note in your editor and index what was saved, or edit its front matter.

    With an option no editor opens: the front matter is edited, and every other byte stays. `djinn
    undo` takes that back.

    Examples:
        djinn memory edit "Harbour lamp"
        djinn memory edit "Harbour lamp" --status done --tag harbour --untag idea
        djinn memory edit "Harbour lamp" --set importance=0.8 --set due=2w
    """
    if call.request.dry_run:
        say(output.clean_lines(answer.diff.rstrip("\n")))
    else:
        say(f"{'edited' if answer.changed else 'unchanged'} {place(answer)}")


@command("memories.versions", fields={"name": NAME})
def _versions(call: Call, answer: NoteVersions) -> None:
    """Show how a note was changed by djinn, newest first, with what differs.

    Texts from before a change are kept for a while. `djinn undo ID` takes a change back.

    Examples:
        djinn memory versions "Harbour lamp"
        djinn memory versions notes/harbour-lamp.md --limit 3
    """
    for version in answer.versions:
        by = f" by {clean(version.by)}" if version.by else ""
        status = "" if version.status == "done" else f", {version.status}"
        say(f"{version.change}  {version.at}  {version.command}{by}{status}")
        say(
            output.clean_lines(version.diff)
            if version.diff is not None
            else "the texts are no longer kept, or too long to compare"
        )
    if not answer.versions:
        say(f"djinn has not changed {place(answer.memory)}")


def _print_move(call: Call, answer: MemoryMove) -> None:
    if call.request.dry_run:
        say(output.clean_lines(answer.diff.rstrip("\n")))
    else:
        links = f", {count(answer.links, 'link')} in {count(len(answer.notes), 'note')}"
        say(f"moved {clean(answer.was)} to {place(answer.memory)}{links if answer.links else ''}")
    print_left(answer.left)
    for alias in answer.aliases:
        say(f"{clean(repr(alias))} is an alias now")


def print_left(listed: Sequence[LinksLeft]) -> None:
    """Print which links stay as they are."""
    for left in listed:
        stay = "stays" if left.links == 1 else "stay"
        say(f"{count(left.links, 'link')} in `{clean(left.vault)}` {stay}: {left.why}")
