"""The job that ends sessions that were left open, as after an agent was killed.

A session is left open if neither `sleep` nor `session end` was called, and its last event and its
last turn are `sessions.open_hours` old. An unnamed session is over when the next one begins. `djinn
undo` takes the handoff back, and `djinn session start` with the name opens the session again.
"""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.sessions.left_open import LeftOpenSession, end_left_open, left_open
from djinn_memory.memories.writing.change_set import check_writable
from djinn_memory.notes.dates import moment
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    runtime = context.runtime

    def work(agent: str) -> Work:
        runtime.fresh_scope(agent)
        return [_end(context, agent, session) for session in left_open(runtime, agent)], ()

    return for_each_agent(context, "sessions", work)


def _end(context: JobContext, agent: str, left: LeftOpenSession) -> JobAction:
    verb = "is to be ended" if context.dry_run else "was ended"
    what = f"{agent}: session {left.session.id}, idle since {moment(left.last)}, {verb}"
    if context.dry_run:
        return JobAction("sessions", what)
    vault = context.runtime.home.personal(agent)
    check_writable(vault)
    path = end_left_open(context.runtime, agent, left)
    return JobAction("sessions", what, vault.name if path else None, path)


JOB = Job(
    "sessions",
    every=timedelta(hours=1),
    does="Ends sessions that were left open for `sessions.open_hours`, each with a handoff that "
    "names its last checkpoint and turns.",
    cost="Reads the events of sessions. Writes a note for each session that it ends.",
    run=_run,
)
