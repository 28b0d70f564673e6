"""The job that reports new contradictions between memories.

It changes no note. A contradiction is reported in the run that finds it, and again only if it was
gone or settled in the meantime. `djinn contradiction settle` settles it, and `wake` and `context`
say how many are open.
"""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.contradictions.finder import Contradiction
from djinn_memory.memories.contradictions.log import review
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    reported: set[str] = set()

    def work(agent: str) -> Work:
        new = review(context.runtime, agent, record=not context.dry_run)
        actions = [_action(agent, each) for each in new if each.id not in reported]
        reported.update(each.id for each in new)
        return actions, ()

    return for_each_agent(context, "contradictions", work)


def _action(agent: str, contradiction: Contradiction) -> JobAction:
    a, b = contradiction.a, contradiction.b
    what = f"{agent}: {a.title!r} contradicts {b.title!r} ({contradiction.id})"
    return JobAction("contradictions", what, a.vault, a.path)


JOB = Job(
    "contradictions",
    every=timedelta(days=1),
    at="04:30",
    does="Reports contradictions between memories, each once. `djinn contradiction settle` settles "
    "one.",
    cost="Compares the facts and the sentences of the newest 20,000 memories. Writes no note.",
    run=_run,
)
