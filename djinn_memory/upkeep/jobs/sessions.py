"""The jobs about sessions: end them, and learn from what was said in them.

A session is left open if neither `sleep` nor `session end` was called, and its last event and its
last turn are `sessions.open_hours` old. An unnamed session is over when the next one begins. `djinn
undo` takes the handoff back, and `djinn session start` with the name opens the session again.
"""

from __future__ import annotations

from datetime import timedelta

from djinn_memory.memories.patterns.consolidate import consolidate
from djinn_memory.memories.patterns.requests import Consolidate, PatternChange
from djinn_memory.memories.sessions.extraction.run import extract
from djinn_memory.memories.sessions.marks import LeftOpenSession, end_left_open, left_open
from djinn_memory.memories.sessions.requests import BuildSummary, ExtractedMemory, ExtractSessions
from djinn_memory.memories.sessions.summary import Summaries, is_stale
from djinn_memory.memories.writing.change_set import check_writable
from djinn_memory.notes.dates import moment
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction


def _end_sessions(context: JobContext) -> JobReport:
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


SESSIONS = Job(
    "sessions",
    every=timedelta(hours=1),
    does="Ends sessions that were left open for `sessions.open_hours`, each with a handoff that "
    "names its last checkpoint and turns.",
    cost="Reads the events of sessions. Writes a note for each session that it ends.",
    run=_end_sessions,
)


def _extract(context: JobContext) -> JobReport:
    def work(agent: str) -> Work:
        if context.runtime.home.personal(agent).read_only:
            return (), ()
        request = ExtractSessions(dry_run=context.dry_run, agent=agent)
        report = extract(context.runtime, request)
        actions = [_memory_action(agent, memory, context.dry_run) for memory in report.written]
        return actions, report.problems

    return for_each_agent(context, "sessions", work)


def _memory_action(agent: str, memory: ExtractedMemory, dry_run: bool) -> JobAction:
    verb = "is to be written" if dry_run else "was written"
    status = f"{memory.status} " if memory.status else ""
    what = f"{agent}: {status}{memory.type} {memory.title!r} {verb}"
    return JobAction("extract", what, None if dry_run else memory.vault, memory.path or None)


EXTRACT = Job(
    "extract",
    every=timedelta(hours=1),
    does="Writes what was stated in idle sessions as memories, as `djinn session extract` does.",
    cost="Reads the new turns of idle sessions. Embeds and writes a note for each statement. Asks "
    "the chat model of `llm.model`, if one is set.",
    run=_extract,
)


def _consolidate(context: JobContext) -> JobReport:
    def work(agent: str) -> Work:
        request = Consolidate(dry_run=context.dry_run, agent=agent)
        report = consolidate(context.runtime, request)
        actions = [_pattern_action(agent, change, context.dry_run) for change in report.changes]
        return actions, report.problems

    return for_each_agent(context, "patterns", work)


def _pattern_action(agent: str, pattern: PatternChange, dry_run: bool) -> JobAction:
    verb = "is to be" if dry_run else "was"
    what = f"{agent}: pattern {pattern.name!r} {verb} {pattern.change}"
    return JobAction("consolidate", what, None if dry_run else pattern.vault, pattern.path or None)


CONSOLIDATE = Job(
    "consolidate",
    every=timedelta(days=1),
    does="Finds patterns in episodes, as `djinn consolidate` does.",
    cost="Counts the episodes. If there are new ones, reads those of the last 400 days and writes "
    "or changes a note for each pattern.",
    run=_consolidate,
)


def _build_summary(context: JobContext) -> JobReport:
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


SUMMARY = Job(
    "summary",
    every=timedelta(hours=1),
    does="Builds the summary again if facts have changed, unless it was written by hand.",
    cost="Reads facts, preferences, projects and commitments. Writes the summary if they have "
    "changed, never one that was written by hand. Asks the chat model of `llm.model`, if one is "
    "set.",
    run=_build_summary,
)
