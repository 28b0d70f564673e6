"""The notes that mark sessions: checkpoints and handoffs, also of sessions that were left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.memories.catalog.catalog import domains_in
from djinn_memory.memories.catalog.standing import StandingMemories
from djinn_memory.memories.changes.history import past_changes
from djinn_memory.memories.episodes.reading import EPISODES
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.session_log import OUTSIDE, Session, Step
from djinn_memory.memories.sessions.history import turns_of
from djinn_memory.memories.sessions.requests import Checkpoint, Handoff
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.provenance import Provenance, evidence_line, evidence_link
from djinn_memory.memories.writing.remember import RememberResult, remember
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.slugs import fold, folder, slug
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import Event

T = TypeVar("T")

SHOWN = 60
"""Maximum characters of the text that become part of a title."""


def checkpoint(runtime: Runtime, request: Checkpoint) -> RememberResult:
    """Save the state of the work."""
    parts = {"Focus": [request.focus] if request.focus else [], "Decisions": request.decisions}
    return _mark(runtime, request, "checkpoint", request.text, parts)


def sleep(runtime: Runtime, request: Handoff) -> RememberResult:
    """End a session with a handoff."""
    parts = {"Next": request.next, "Blocked": request.blocked}
    return _mark(runtime, request, "handoff", request.summary, parts)


def _mark(
    runtime: Runtime,
    request: Checkpoint | Handoff,
    kind: Literal["checkpoint", "handoff"],
    text: str,
    parts: Mapping[str, Sequence[str]],
) -> RememberResult:
    """Write a note of its own. `parts` are lists under headings."""
    state, now = runtime.state, runtime.now()
    if not text.strip():
        raise UsageError(f"a {kind} needs a text that says what was done; give one sentence")
    problems: list[Problem] = []
    agent = state.home.agent(request.agent)
    named = session_log.given(state, request.session)
    current = named or or_problem(lambda: session_log.current(state, agent), problems)
    session = current or OUTSIDE
    step: Step = "ended" if kind == "handoff" else "checkpointed"
    if session == OUTSIDE and step == "checkpointed":
        # Work outside of any session is a session too: the next wake is to report it.
        session = session_log.new_name(now)
    first = " ".join(text.split())
    first = first if len(first) <= SHOWN else f"{first[:SHOWN].rsplit(' ', 1)[0]} ..."
    when = now.astimezone().strftime("%Y-%m-%d %H:%M")
    sections = [text.strip(), *(_section(heading, points) for heading, points in parts.items())]
    note = NewMemory(
        kind,
        f"{kind.capitalize()} {when}: {first}",
        "\n\n".join(filter(None, sections)),
        fields={"agent": agent, "session": session},
        existing="new",
        # The same work as yesterday is described in the same words.
        force=True,
        allow_secret=request.allow_secret,
        agent=agent,
    )
    written = remember(runtime, note)
    event = Event(
        f"session.{step}", session, {"agent": agent, "note": written.id, "named": bool(named)}
    )
    # Without the event the note still says by itself what it is.
    or_problem(lambda: state.ledger.append([event]), problems)
    return replace(written, problems=[*written.problems, *problems])


def or_problem(call: Callable[[], T], problems: list[Problem]) -> T | None:
    """The result of a call, or None and a problem if the ledger cannot be used."""
    try:
        return call()
    except DjinnError as error:
        if (problem := Problem("ledger", str(error))) not in problems:
            problems.append(problem)
        return None


def _section(heading: str, points: Sequence[str]) -> str:
    listed = "\n".join(f"- {' '.join(point.split())}" for point in points if point.strip())
    return f"## {heading}\n\n{listed}" if listed else ""


RULE = "maintain.sessions"
"""The rule of the handoffs, which also marks the events of sessions that upkeep ended."""

MOST_TURNS = 5
"""Maximum number of last turns to which a handoff links."""

FORGOTTEN = timedelta(days=30)
"""A session that is idle for longer ends without a handoff, because nobody resumes it."""

_HANDOFF = "handoff"


class LeftOpenSession(Struct, frozen=True):
    """An open session of an agent without activity."""

    session: Session
    last: datetime
    """The time of its last event or turn."""


def left_open(runtime: Runtime, agent: str) -> list[LeftOpenSession]:
    """The open sessions of an agent that are idle for `sessions.open_hours`, oldest first."""
    sessions = session_log.all_open(runtime.state, agent)
    if not sessions:
        return []
    limit = runtime.now() - timedelta(hours=runtime.home.config.sessions.open_hours)
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        groups = index.groups("session", Selection(EPISODES))
    turns = {fold(group.value): group.last for group in groups}
    idle = [
        LeftOpenSession(session, max(map(_time, filter(None, times))))
        for session in sessions
        if (times := (session.at, turns.get(fold(session.id))))
    ]
    return sorted((each for each in idle if each.last < limit), key=lambda each: each.last)


def end_left_open(runtime: Runtime, agent: str, left: LeftOpenSession) -> str | None:
    """End a session. Returns the path of its handoff in the agent's vault, if one was written.

    The handoff has the time of the last activity, so that it is not newer than the handoff of a
    later session. It is written once: one that was deleted or taken back does not return. A session
    without turns and without a checkpoint has nothing to hand over.
    """
    vault = runtime.home.personal(agent)
    path = _path(left)
    written = None
    if runtime.now() - left.last < FORGOTTEN and not _is_known(runtime, vault, path):
        draft = _handoff(runtime, agent, left)
        if draft:
            what = f"Ended the session {left.session.id} of {agent} with a handoff"
            with change_set(runtime, "maintain --only sessions", what, agent) as changes:
                data = draft.compose(left.last)[1].encode("utf-8", "replace")
                changes.create(vault, path, data)
            written = path
    session_log.end(runtime.state, agent, left.session, by=RULE)
    return written


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.astimezone()


def _title(left: LeftOpenSession) -> str:
    when = left.last.astimezone().strftime("%Y-%m-%d %H:%M")
    return f"Handoff {when}: session {left.session.id} was left open"


def _path(left: LeftOpenSession) -> str:
    return f"{folder(_HANDOFF)}/{slug(_title(left))}.md"


def _is_known(runtime: Runtime, vault: Vault, path: str) -> bool:
    """Whether a handoff was written before, by a run that was interrupted or taken back."""
    return os.path.lexists(vault.root / path) or any(
        (file.vault, file.path) == (vault.id, path)
        for change in past_changes(runtime.state, (vault,))
        for file in change.record.plan.files
    )


def _handoff(runtime: Runtime, agent: str, left: LeftOpenSession) -> Draft | None:
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
    origin = Provenance(RULE, tuple(evidence), agent, session=session.id, domains=domains)
    return Draft(_HANDOFF, _title(left), "\n\n".join(parts), {**fields, **origin.fields()})


def ended_by_upkeep(runtime: Runtime, agent: str) -> list[str]:
    """What `wake` says about the sessions that upkeep ended since the last one began."""
    return [
        f"Session {session.id} was left open. Upkeep ended it on {local_day(session.at)}."
        for session in session_log.ended_by(runtime.state, agent, RULE)
    ]
