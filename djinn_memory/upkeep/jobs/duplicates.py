"""The job that proposes to merge notes that say the same."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.proposals.kinds import merge
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, proposed


def _run(context: JobContext) -> JobReport:
    return proposed(context, "duplicates", merge.KIND.name, merge.find)


JOB = Job(
    "duplicates",
    every=timedelta(days=1),
    at="04:00",
    does="Proposes to merge notes that say the same; see `djinn proposal list`.",
    cost="Reads the texts and vectors of the notes in the vaults that djinn manages. Embeds "
    "nothing and changes no note.",
    run=_run,
)
