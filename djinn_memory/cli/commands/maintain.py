"""djinn maintain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.upkeep.requests import MaintainOptions

if TYPE_CHECKING:
    from djinn_memory.upkeep.requests import MaintenanceReport


@command(
    "maintain", MaintainOptions, fields={"only": Field("TASK", candidates.chores)}, warns=False
)
def maintain(call: Call, answer: MaintenanceReport) -> None:
    """Run periodic maintenance.

    promote: short-term entries of `djinn working` that were used at least three times become notes;
    entries that say the same become one note. expire: expired memories are marked as expired.
    extract: what was stated in idle sessions becomes memories, as `djinn session extract` does it.
    summary: the summary is built again if facts have changed, unless it was written by hand.
    daily: a note with links to yesterday's episodes and notes is written. trash: files in the
    `.trash/` of djinn's own vaults are deleted after `upkeep.keep_days`.

    Without `--agent` it works for all agents, and names their keys and files.

    Examples:
        djinn maintain
        djinn maintain --only promote --dry-run
    """
    for action in answer.deeds:
        place = f"  {action.vault}/{action.path}" if action.path else ""
        say(clean(f"{action.task}  {action.what}{place}"))
    if not (answer.deeds or answer.problems):
        talk("nothing to do")
