"""The job that extracts what was stated in idle sessions."""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.sessions.extraction.run import extract
from djinn_memory.memories.sessions.session_requests import ExtractedMemory, ExtractSessions
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _run(context: JobContext) -> JobReport:
    def work(agent: str) -> Work:
        if context.runtime.home.personal(agent).read_only:
            return (), ()
        request = ExtractSessions(dry_run=context.dry_run, agent=agent)
        report = extract(context.runtime, request)
        actions = [_action(agent, memory, context.dry_run) for memory in report.written]
        return actions, report.problems

    return for_each_agent(context, "sessions", work)


def _action(agent: str, memory: ExtractedMemory, dry_run: bool) -> JobAction:
    verb = "is to be written" if dry_run else "was written"
    status = f"{memory.status} " if memory.status else ""
    what = f"{agent}: {status}{memory.type} {memory.title!r} {verb}"
    return JobAction("extract", what, None if dry_run else memory.vault, memory.path or None)


JOB = Job(
    "extract",
    every=timedelta(hours=1),
    does="Writes what was stated in idle sessions as memories, as `djinn session extract` does.",
    cost="Reads the new turns of idle sessions. Embeds and writes a note for each statement. Asks "
    "the chat model of `llm.model`, if one is set.",
    run=_run,
)
