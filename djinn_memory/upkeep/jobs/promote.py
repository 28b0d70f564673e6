"""The job that turns frequently used short-term entries into notes."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.working.promotion import Promotion, earned, promote
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    entries = earned(context.runtime.state, context.agents)
    if context.dry_run:
        return JobReport(
            tuple(
                JobAction("promote", f"{entry.agent}: {entry.key} becomes a note")
                for entry in entries
            )
        )
    if not entries:
        return JobReport()
    promotions, problems = promote(context.runtime, context.agents)
    return JobReport(tuple(map(_action, promotions)), tuple(problems))


def _action(promotion: Promotion) -> JobAction:
    became = (
        "says the same as this note, which now covers both" if promotion.joined else "became a note"
    )
    what = f"{promotion.entry.agent}: {promotion.entry.key} {became}"
    return JobAction("promote", what, promotion.vault, promotion.path)


JOB = Job(
    "promote",
    every=timedelta(days=1),
    at="04:00",
    does="Turns short-term entries of `djinn working` that were used at least three times "
    "into notes.",
    cost="Reads working memory. Embeds a text and writes a note for each entry to promote.",
    run=_run,
)
