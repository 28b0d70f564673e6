"""djinn maintain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, place, say
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count
from djinn_memory.upkeep.registry import JOBS

if TYPE_CHECKING:
    from djinn_memory.upkeep.requests import JobRun, MaintenanceReport


def _print(call: Call, answer: MaintenanceReport) -> None:
    width = max(map(len, (*answer.tasks, *answer.skipped)), default=0)
    for run in answer.runs:
        say(f"{run.task:{width}}  {_result(run, call.request.dry_run)}, {run.seconds:.1f} s")
        for action in answer.deeds:
            if action.task == run.task:
                note = f"  {place(action)}" if action.path else ""
                say(clean(f"  {action.what}{note}"))
    for name in answer.skipped:
        say(f"{name:{width}}  skipped (upkeep.skip)")


def _result(run: JobRun, dry_run: bool) -> str:
    parts = [f"{count(run.actions, 'action')}{' to take' if dry_run else ''}"] * bool(run.actions)
    parts += [count(run.problems, "problem")] * bool(run.problems)
    return ", ".join(parts) or "nothing to do"


_BREAK = "\n\n"

_print.__doc__ = f"""Run periodic maintenance.

{_BREAK.join(f"{job.name}: {job.does}" for job in JOBS.values())}

Each task prints one line, and below it what it did. `djinn undo` takes changes of notes back.
Without `--agent` the tasks work for all agents, and name their keys and files. The exit code is 1
if a task had problems.

Examples:
    djinn maintain
    djinn maintain --only promote --dry-run
"""

maintain = command("maintain", fields={"only": Field("TASK", lambda: [*JOBS])}, warns=False)(_print)
