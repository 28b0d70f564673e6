"""The job that builds an agent's summary again when what it summarises has changed."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.errors import DjinnError
from djinn_memory.memories.sessions.requests import BuildSummary
from djinn_memory.memories.sessions.summary import Summaries, is_stale
from djinn_memory.models import Problem
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    actions: list[JobAction] = []
    problems: list[Problem] = []
    for agent in context.agents:
        try:
            if not is_stale(context.runtime, agent):
                continue
            if context.dry_run:
                actions.append(JobAction("summary", f"the summary of {agent} is to be built"))
                continue
            change = Summaries(context.runtime).build(BuildSummary(agent=agent))
        except DjinnError as error:
            problems.append(Problem(f"summary of {agent}", str(error)))
            continue
        summary = change.summary
        what = f"the summary of {agent} was {change.action}"
        actions.append(JobAction("summary", what, summary.vault, summary.path))
        problems += change.problems
    return JobReport(tuple(actions), tuple(problems))


JOB = Job(
    "summary",
    every=timedelta(hours=1),
    cost="Reads facts, preferences, projects and commitments. Writes the summary if they have "
    "changed, never one that was written by hand. Asks the chat model of `llm.model`, if one is "
    "set.",
    run=_run,
)
