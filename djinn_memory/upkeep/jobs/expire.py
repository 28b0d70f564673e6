"""The job that marks expired facts."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.facts.writer import mark_expired, unmarked_expired
from djinn_memory.models import Problem
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    facts = unmarked_expired(context.runtime, context.vaults)
    problems: list[Problem] = []
    if not context.dry_run:
        facts, problems = mark_expired(context.runtime, facts)
    verb = "is to be marked" if context.dry_run else "is marked"
    return JobReport(
        tuple(
            JobAction(
                "expire",
                f"{fact.category}/{fact.key} {verb} as expired",
                fact.vault.name,
                fact.path,
            )
            for fact in facts
        ),
        tuple(problems),
    )


JOB = Job(
    "expire",
    every=timedelta(days=1),
    does="Marks facts whose time is over as expired.",
    cost="Reads the facts in the index, and edits a line of each fact that has expired.",
    run=_run,
)
