"""The job that archives observations past their time.

An observation is past its time after `upkeep.observation_days`. By default this is the time that
consolidation looks back, so that its patterns have been found. Its section of the journal gets
`status: archived`, and recalls leave it out. Messages and outcomes stay. `djinn undo` takes the
marks back.
"""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.episodes.archive import archive, old_observations
from djinn_memory.system.plural import count
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    runtime = context.runtime
    verb = "to be archived" if context.dry_run else "archived"

    def work(agent: str) -> Work:
        vault = runtime.home.personal(agent)
        runtime.refresh((vault,))
        journals = old_observations(runtime, agent)
        if not context.dry_run:
            archive(runtime, agent, vault, journals)
        return [
            JobAction(
                "observations",
                f"{agent}: {count(len(each.blocks), 'observation')} of {each.day} {verb}",
                vault.name,
                each.path,
            )
            for each in journals
        ], ()

    return for_each_agent(context, "observations", work)


JOB = Job(
    "observations",
    every=timedelta(days=1),
    does="Marks observations that are older than `upkeep.observation_days` as archived.",
    cost="Lists old observations in the index. Changes a line of each in its journal, once.",
    run=_run,
)
