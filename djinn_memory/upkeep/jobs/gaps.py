"""The job that closes gaps which newer memories answer.

It closes a gap only for certain: with a memory that is newer than the gap, and whose sentence has
every content word of the gap, says something besides, and neither asks nor denies. A newer note
that is about the same is only proposed, see `djinn proposal list`. `djinn gap reopen` opens a gap
again, and the job does not close it with the same memory again.
"""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.proposals.kind import Finding
from djinn_memory.memories.proposals.kinds import gap
from djinn_memory.memories.recall.gap_answers import AnsweredGap, answered, close
from djinn_memory.runtime import Runtime
from djinn_memory.upkeep.jobs.job import (
    Job,
    JobContext,
    JobReport,
    Work,
    for_each_agent,
    proposed,
)
from djinn_memory.upkeep.requests import JobAction

RULE = "maintain.gaps"
"""The rule in the events of the gaps that this job closes."""


def _run(context: JobContext) -> JobReport:
    runtime = context.runtime
    certain: set[str] = set()

    def find(runtime: Runtime, agent: str | None) -> list[Finding]:
        return [each for each in gap.find(runtime, agent) if each.subjects[0][0] not in certain]

    def work(agent: str) -> Work:
        actions = []
        for answer in answered(runtime, agent):
            if not context.dry_run:
                close(runtime, answer, RULE)
            certain.add(answer.gap.id)
            actions.append(_action(agent, answer, context.dry_run))
        return actions, ()

    closed = for_each_agent(context, "gaps", work)
    likely = proposed(context, "gaps", gap.KIND.name, find)
    return JobReport((*closed.actions, *likely.actions), (*closed.problems, *likely.problems))


def _action(agent: str, answer: AnsweredGap, dry_run: bool) -> JobAction:
    verb = "is to be closed" if dry_run else "was closed"
    about = f"gap {answer.gap.id} {answer.gap.description!r}"
    what = f"{agent}: {about} {verb}, answered by {answer.sentence!r}"
    return JobAction("gaps", what, answer.hit.vault, answer.hit.path)


JOB = Job(
    "gaps",
    every=timedelta(days=1),
    at="04:45",
    does="Closes gaps that a sentence of a newer memory clearly answers, and proposes to close "
    "those that a newer note may answer.",
    cost="Searches twice for each open gap. Writes no note.",
    run=_run,
)
