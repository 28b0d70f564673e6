"""The job that builds an agent's summary again when what it summarises has changed."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.sessions.requests import BuildSummary
from djinn_memory.memories.sessions.summary import Summaries, is_stale
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    def work(agent: str) -> Work:
        if not is_stale(context.runtime, agent):
            return (), ()
        if context.dry_run:
            return [JobAction("summary", f"the summary of {agent} is to be built")], ()
        change = Summaries(context.runtime).build(BuildSummary(agent=agent))
        summary = change.summary
        what = f"the summary of {agent} was {change.action}"
        return [JobAction("summary", what, summary.vault, summary.path)], change.problems

    return for_each_agent(context, "summary", work)


JOB = Job(
    "summary",
    every=timedelta(hours=1),
    does="Builds the summary again if facts have changed, unless it was written by hand.",
    cost="Reads facts, preferences, projects and commitments. Writes the summary if they have "
    "changed, never one that was written by hand. Asks the chat model of `llm.model`, if one is "
    "set.",
    run=_run,
)
