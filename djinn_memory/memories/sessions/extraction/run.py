"""Extraction: reads idle sessions, and writes what was stated in them."""

from __future__ import annotations

from collections.abc import Iterator

from djinn_memory.errors import Changed, DjinnError, Refused, Unavailable
from djinn_memory.home.settings import LlmConfig
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions.extraction.log import ExtractionLog
from djinn_memory.memories.sessions.extraction.proposals import propose
from djinn_memory.memories.sessions.extraction.rules import claims_in
from djinn_memory.memories.sessions.extraction.turns import (
    UnreadSession,
    stated_texts,
    time_of,
    unread_sessions,
)
from djinn_memory.memories.sessions.extraction.writer import ClaimWriter
from djinn_memory.memories.sessions.history import near_sessions
from djinn_memory.memories.sessions.session_requests import (
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
    vault = runtime.home.personal(agent)
    # Otherwise every statement would be refused, and the sessions would count as read.
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; remove read_only from config.yaml first")
    domain_to_write(runtime, vault, agent, None)
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
    results: list[ExtractedMemory | SkippedStatement] = []
    sessions = 0
    answers = True
    """Whether the model, if there is one, has answered so far. Otherwise it is not waited for."""
    for unread in unread_sessions(runtime, agent, log, session):
        place = f"session {unread.session}"
        try:
            for result in _of_session(unread, writer):
                results.append(result)
            answers = answers and (
                dry_run or _proposed(runtime.home.config.llm, unread, writer, results, problems)
            )
            if answers:
                # A session is read again until the model has answered.
                log.read(unread.session, unread.mark)
        except Changed as error:
            problems.append(Problem(place, error.message))
            break
        except (OSError, Unavailable) as error:
            # What was written is logged. The next run continues with this session.
            why = getattr(error, "strerror", None) or str(error)
            problems.append(Problem(place, f"{why}; run it again"))
            break
        sessions += 1
    return ExtractionReport(
        tuple(result for result in results if isinstance(result, ExtractedMemory)),
        tuple(result for result in results if isinstance(result, SkippedStatement)),
        sessions,
        dry_run,
        near_sessions(runtime, agent, session) if session and not sessions else (),
        tuple(problems),
    )


def _of_session(
    unread: UnreadSession, writer: ClaimWriter
) -> Iterator[ExtractedMemory | SkippedStatement]:
    """Take the claims of a session's turns, in order."""
    for turn in unread.turns:
        for passage in stated_texts(turn):
            for claim in claims_in(passage.text, time_of(turn), personal=passage.personal):
                yield writer.take(claim, turn, unread.session, proposed=not passage.personal)


def _proposed(
    config: LlmConfig,
    unread: UnreadSession,
    writer: ClaimWriter,
    results: list[ExtractedMemory | SkippedStatement],
    problems: list[Problem],
) -> bool:
    """Take what the model proposes, if one is set. Returns False if it did not answer."""
    if not config.model:
        return True
    wrong: list[str] = []
    try:
        proposals = list(propose(config, unread.turns, wrong))
    except DjinnError as error:
        problems.append(Problem("llm", f"session {unread.session}: {error}"))
        return False
    problems += (Problem("llm", f"session {unread.session}: {why}") for why in wrong)
    for proposal in proposals:
        result = writer.take(proposal.claim, proposal.turn, unread.session, proposed=True)
        results.append(result)
    return True
