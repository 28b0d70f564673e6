"""The job that imports into the shared vault what agents mark to be shared.

An agent shares a note of its own vault with `share: true` in the front matter. Only notes of the
semantic plane are shared, such as lessons, decisions and preferences: facts and entities have a
shared form of their own. The copy follows edits of the original, and goes when the mark goes. If
somebody edited the copy, it stays, which is reported once. `djinn undo` takes a copy back, and it
does not return until the note is marked anew.
"""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.errors import DjinnError
from djinn_memory.memories.writing.sharing import SharingStep, carry_out, sharing_steps
from djinn_memory.models import Problem
from djinn_memory.store.sqlite import DamagedDatabase
from djinn_memory.upkeep.jobs.job import (
    Job,
    JobContext,
    JobReport,
    Work,
    for_each_agent,
    reason,
)
from djinn_memory.upkeep.requests import JobAction

_VERBS = {
    "share": ("is to be shared", "is shared"),
    "update": ("is to be updated in the shared vault", "is updated in the shared vault"),
    "keep": ("was edited in the shared vault and is to be left", "was edited in the shared vault "
             "and is left as it is there"),
    "withdraw": ("is to be withdrawn from the shared vault", "is withdrawn from the shared vault"),
}  # fmt: skip


def _run(context: JobContext) -> JobReport:
    runtime = context.runtime

    def work(agent: str) -> Work:
        runtime.refresh((runtime.home.personal(agent), runtime.home.shared))
        actions: list[JobAction] = []
        problems: list[Problem] = []
        for step in [*sharing_steps(runtime, agent)]:
            try:
                path = step.path if context.dry_run else carry_out(runtime, agent, step)
            except DamagedDatabase:
                raise
            except (DjinnError, OSError) as error:
                problems.append(Problem(f"{step.title!r} of {agent}", reason(error)))
            else:
                actions.append(_action(context, agent, step, path))
        return actions, problems

    return for_each_agent(context, "learnings", work)


def _action(context: JobContext, agent: str, step: SharingStep, path: str | None) -> JobAction:
    verb = _VERBS[step.step][not context.dry_run]
    vault = context.runtime.home.shared.name if path else None
    return JobAction("learnings", f"{agent}: {step.title!r} {verb}", vault, path or None)


JOB = Job(
    "learnings",
    every=timedelta(hours=1),
    does="Copies notes that an agent marks with `share: true` into the shared vault, and follows "
    "their edits.",
    cost="Reads the marked notes of each agent. Writes a note for each that is new or changed.",
    run=_run,
)
