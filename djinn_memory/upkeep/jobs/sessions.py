"""The jobs about sessions: end them, and learn from their conversations.

A session is left open if neither `sleep` nor `session end` was called, and its last event and its
last turn are `sessions.open_hours` old. An unnamed session is over when the next one begins. `djinn
undo` takes the handoff back, and `djinn session start` with the name opens the session again.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from djinn_memory.memories.catalog.catalog import domains_in
from djinn_memory.memories.catalog.standing import StandingMemories
from djinn_memory.memories.episodes.reading import EPISODES
from djinn_memory.memories.patterns.consolidate import consolidate
from djinn_memory.memories.patterns.requests import Consolidate, PatternChange
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.session_log import Session
from djinn_memory.memories.sessions.extraction.run import extract
from djinn_memory.memories.sessions.marks import HANDOFF_RULE
from djinn_memory.memories.sessions.requests import BuildSummary, ExtractedMemory, ExtractSessions
from djinn_memory.memories.sessions.summary import Summaries, is_stale
from djinn_memory.memories.sessions.verbs import turns_of
from djinn_memory.memories.writing.change_set import change_set, check_writable
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.provenance import Provenance, evidence_line, evidence_link
from djinn_memory.notes.dates import moment
from djinn_memory.notes.slugs import fold, folder, slug
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction

MOST_TURNS = 5
"""Maximum number of last turns to which a handoff links."""

FORGOTTEN = timedelta(days=30)
"""A session that is idle for longer ends without a handoff, because nobody resumes it."""

_HANDOFF = "handoff"


class _LeftOpen(Struct, frozen=True):
    """An open session of an agent without activity."""

    session: Session
    last: datetime
    """The time of its last event or turn."""


def _end_sessions(context: JobContext) -> JobReport:
    runtime = context.runtime

    def work(agent: str) -> Work:
        runtime.fresh_scope(agent)
        return [_end(context, agent, session) for session in _left_open(runtime, agent)], ()

    return for_each_agent(context, "sessions", work)


def _end(context: JobContext, agent: str, left: _LeftOpen) -> JobAction:
    verb = "is to be ended" if context.dry_run else "was ended"
    what = f"{agent}: session {left.session.id}, idle since {moment(left.last)}, {verb}"
    if context.dry_run:
        return JobAction("sessions", what)
    vault = context.runtime.home.personal(agent)
    check_writable(vault)
    path = _end_session(context, agent, left)
    return JobAction("sessions", what, vault.name if path else None, path)


def _left_open(runtime: Runtime, agent: str) -> list[_LeftOpen]:
    """The open sessions of an agent that are idle for `sessions.open_hours`, oldest first."""
    sessions = session_log.all_open(runtime.state, agent)
    if not sessions:
        return []
    limit = runtime.now() - timedelta(hours=runtime.home.config.sessions.open_hours)
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        groups = index.groups("session", Selection(EPISODES))
    turns = {fold(group.value): group.last for group in groups}
    idle = [
        _LeftOpen(session, max(map(_time, filter(None, times))))
        for session in sessions
        if (times := (session.at, turns.get(fold(session.id))))
    ]
    return sorted((each for each in idle if each.last < limit), key=lambda each: each.last)


def _end_session(context: JobContext, agent: str, left: _LeftOpen) -> str | None:
    """End a session. Returns the path of its handoff in the agent's vault, if one was written.

    The handoff has the time of the last activity, so that it is not newer than the handoff of a
    later session. It is written once: one that was deleted or taken back does not return. A session
    without turns and without a checkpoint has nothing to hand over.
    """
    runtime, written = context.runtime, None
    vault = runtime.home.personal(agent)
    path = f"{folder(_HANDOFF)}/{slug(_handoff_title(left))}.md"
    if runtime.now() - left.last < FORGOTTEN and not context.was_written(vault, path, (vault,)):
        draft = _handoff(runtime, agent, left)
        if draft:
            what = f"Ended the session {left.session.id} of {agent} with a handoff"
            with change_set(runtime, "maintain --only sessions", what, agent) as changes:
                data = draft.compose(left.last)[1].encode("utf-8", "replace")
                changes.create(vault, path, data)
            written = path
    session_log.end(runtime.state, agent, left.session, by=HANDOFF_RULE)
    return written


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.astimezone()


def _handoff_title(left: _LeftOpen) -> str:
    when = left.last.astimezone().strftime("%Y-%m-%d %H:%M")
    return f"Handoff {when}: session {left.session.id} was left open"


def _handoff(runtime: Runtime, agent: str, left: _LeftOpen) -> Draft | None:
    session = left.session
    standing = StandingMemories(runtime.state, agent, runtime.now())
    checkpoint = standing.by_id(session.note) if session.note else None
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        selection = Selection(turns_of(session.id))
        turns = [*index.memories(selection, limit=MOST_TURNS)][::-1]
        ids = (session.note,) if checkpoint and session.note else ()
        quoted = [*turns, *(index.memories(Selection(ids=ids)) if ids else ())]
    if not (checkpoint or turns):
        return None
    hours = f"{runtime.home.config.sessions.open_hours:g}"
    parts = [f"This session was not ended. djinn ended it after {hours} hours without activity."]
    evidence = [evidence_link(memory) for memory in (*([checkpoint] if checkpoint else ()), *turns)]
    if checkpoint:
        link = evidence_link(checkpoint)
        parts += ["## Last checkpoint", f"{link}\n\n{checkpoint.text.strip()}"]
    if turns:
        parts += ["## Last turns", "\n".join(map(evidence_line, turns))]
    fields: dict[str, object] = {"agent": agent, "session": session.id}
    domains = tuple(domains_in(quoted))
    origin = Provenance(HANDOFF_RULE, tuple(evidence), agent, session=session.id, domains=domains)
    return Draft(_HANDOFF, _handoff_title(left), "\n\n".join(parts), {**fields, **origin.fields()})


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
    does="Finds patterns in episodes, as `djinn pattern find` does.",
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
