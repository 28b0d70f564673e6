"""The list of jobs. A new job needs a module in `jobs/` and a line here.

The decay of the importance of stale notes is no job. A recall computes it from dates and uses, so
that no note changes by the clock, and a use ends it at once; see `scoring.decayed`.
"""

from __future__ import annotations

from djinn_memory.upkeep.jobs import (
    daily,
    learnings,
    observations,
    promote,
    proposals,
    sessions,
    trash,
)
from djinn_memory.upkeep.jobs.job import Job

JOBS: dict[str, Job] = {
    job.name: job
    for job in (
        promote.JOB,
        trash.EXPIRE,
        sessions.SESSIONS,
        sessions.EXTRACT,
        sessions.CONSOLIDATE,
        learnings.JOB,
        sessions.SUMMARY,
        proposals.CONTRADICTIONS,
        proposals.GAPS,
        observations.JOB,
        daily.JOB,
        proposals.DUPLICATES,
        proposals.ROT,
        trash.DELETE,
    )
}
"""The jobs by name, in the order in which they run."""
