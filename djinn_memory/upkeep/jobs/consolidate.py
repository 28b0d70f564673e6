"""The job that finds patterns in episodes."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.patterns.consolidate import consolidate
from djinn_memory.memories.patterns.requests import Consolidate, PatternChange
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    def work(agent: str) -> Work:
        request = Consolidate(dry_run=context.dry_run, agent=agent)
        report = consolidate(context.runtime, request)
        actions = [_action(agent, change, context.dry_run) for change in report.changes]
        return actions, report.problems

    return for_each_agent(context, "patterns", work)


def _action(agent: str, pattern: PatternChange, dry_run: bool) -> JobAction:
    verb = "is to be" if dry_run else "was"
    what = f"{agent}: pattern {pattern.name!r} {verb} {pattern.change}"
    return JobAction("consolidate", what, None if dry_run else pattern.vault, pattern.path or None)


JOB = Job(
    "consolidate",
    every=timedelta(days=1),
    does="Finds patterns in episodes, as `djinn consolidate` does.",
    cost="Counts the episodes. If there are new ones, reads those of the last 400 days and writes "
    "or changes a note for each pattern.",
    run=_run,
)
