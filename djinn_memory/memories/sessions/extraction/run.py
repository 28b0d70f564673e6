"""Extraction: reads idle sessions, and writes what was stated in them."""

from __future__ import annotations

from collections.abc import Iterator

from djinn_memory.errors import Unavailable
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions.extraction.log import ExtractionLog
from djinn_memory.memories.sessions.extraction.rules import claims_in
from djinn_memory.memories.sessions.extraction.turns import (
    UnreadSession,
    passages,
    time_of,
    unread_sessions,
)
from djinn_memory.memories.sessions.extraction.writer import ClaimWriter
from djinn_memory.memories.sessions.requests import (
    ExtractedMemory,
    ExtractionReport,
    ExtractSessions,
    SkippedStatement,
)
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.system.locks import lock

PATIENCE = 30.0
"""Seconds to wait for another extraction for the same agent."""


def extract(runtime: Runtime, request: ExtractSessions) -> ExtractionReport:
    """Extract what was stated in sessions; see `Sessions.extract`."""
    agent = runtime.home.agent(request.agent)
    session = session_log.name(runtime.state, request.session) if request.session else None
    # The note of a claim may have been written by hand a moment ago.
    problems = read(runtime.state, runtime.home.scope(agent))
    if request.dry_run:
        return _run(runtime, agent, session, problems, dry_run=True)
    # Two runs at once would write the same claims.
    with lock(runtime.home.state / f"extract-{agent}.lock", timeout=PATIENCE):
        return _run(runtime, agent, session, problems, dry_run=False)


def _run(
    runtime: Runtime,
    agent: str,
    session: str | None,
    problems: list[Problem],
    *,
    dry_run: bool,
) -> ExtractionReport:
    log = ExtractionLog(runtime.state, agent, keep=not dry_run)
    writer = ClaimWriter(runtime, agent, log, dry_run=dry_run)
    written: list[ExtractedMemory] = []
    skipped: list[SkippedStatement] = []
    sessions = 0
    for unread in unread_sessions(runtime, agent, log, session):
        try:
            for result in _of_session(unread, writer):
                if isinstance(result, ExtractedMemory):
                    written.append(result)
                else:
                    skipped.append(result)
            log.read(unread.session, unread.mark)
        except (OSError, Unavailable) as error:
            # What was written is logged. The next run continues with this session.
            why = getattr(error, "strerror", None) or str(error)
            problems.append(Problem(f"session {unread.session}", f"{why}; run it again"))
            break
        sessions += 1
    return ExtractionReport(tuple(written), tuple(skipped), sessions, dry_run, tuple(problems))


def _of_session(
    unread: UnreadSession, writer: ClaimWriter
) -> Iterator[ExtractedMemory | SkippedStatement]:
    """Take the claims of a session's turns, in order."""
    for turn in unread.turns:
        for passage in passages(turn):
            for claim in claims_in(passage.text, time_of(turn), personal=passage.personal):
                yield writer.take(claim, turn, unread.session, proposed=not passage.personal)
