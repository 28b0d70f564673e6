"""djinn undo."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.changes.requests import (
    ChangeList,
    ListChanges,
    UndoChange,
    UndoReport,
)
from djinn_memory.notes.dates import local_minute
from djinn_memory.system.plural import count


class UndoView(Struct, frozen=True):
    """The options of `djinn undo` besides those of an undo."""

    list: Annotated[
        bool, Meta(description="List the changes that can be taken back, and earlier ones.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=1000, description="With --list: maximum number.")] = 20
    yes: Annotated[bool, Meta(description="Do not ask for confirmation.")] = False


def _undo(call: Call) -> Struct:
    changes, request = call.djinn.changes, call.request
    if call.view.list:
        call.schema = "undo.list"
        return changes.list(call.convert(ListChanges))
    call.schema = "undo"
    preview = changes.undo(change=request.change, agent=request.agent, dry_run=True)
    about = f"{preview.change.id}: {preview.change.what} ({count(len(preview.files), 'file')})"
    if request.dry_run or not call.confirmed("Take this change back?", about):
        return preview
    return changes.undo(change=preview.change.id, agent=request.agent)


@command(
    "changes.undo",
    UndoChange,
    fields={"change": Field("ID", candidates.changes)},
    view=UndoView,
    run=_undo,
    schemas={"undo": "changes.undo", "undo.list": "changes.list"},
    words="undo",
    also={"changes.list": "--list"},
)
def undo(call: Call, answer: UndoReport | ChangeList) -> None:
    """Take back a change that djinn made to notes.

    A command that changes notes, such as `remember`, `fact set` or `lint --fix`, and a task of
    `djinn maintain` change them in one step. This takes back the last step that was not taken back,
    or the one with an id: every file gets the bytes, the permissions and the time of saving that it
    had before. A note that somebody asked for, and that did not exist before, goes to the trash of
    its vault. If somebody edited one of the files since, nothing is
    taken back. The undo is a change itself, and can be taken back by its id. The bytes before a
    change are kept for a month.

    Examples:
        djinn undo
        djinn undo --list
        djinn undo chg_3v9qk2m7xd --dry-run
    """
    if isinstance(answer, ChangeList):
        rows = [
            [change.id, local_minute(change.at), change.status, change.command, change.what]
            for change in answer.changes
        ]
        output.columns(
            rows, head="id time status command change", empty="djinn has changed no notes."
        )
        return
    verb = "took back" if answer.undone else "would take back"
    if not (answer.undone or call.request.dry_run):
        talk("Aborted; nothing was changed.")
        return
    say(clean(f"{verb} {answer.change.id}: {answer.change.what}"))
    for file in answer.files:
        say(clean(f"  {file.action} {file.vault}/{file.path}"))
