"""The job that proposes stale notes for the archive."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.proposals.kinds import archive
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, proposed


def _run(context: JobContext) -> JobReport:
    return proposed(context, "rot", archive.KIND.name, archive.find)


JOB = Job(
    "rot",
    every=timedelta(days=1),
    at="04:00",
    does="Proposes to archive notes that nobody has used for long; see `djinn proposal list`.",
    cost="Reads dates, uses and links of all notes in the vaults that djinn manages. Changes no "
    "note.",
    run=_run,
)
