"""Ends sessions that were left open, as after an agent was killed."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from msgspec import Struct

from djinn_memory.memories.catalog.hiding import domains_in
from djinn_memory.memories.catalog.standing import StandingMemories
from djinn_memory.memories.changes.history import past_changes
from djinn_memory.memories.episodes.reading import EPISODES
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.session_log import Session
from djinn_memory.memories.sessions.history import turns_of
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.provenance import (
    Provenance,
    evidence_line,
    evidence_link,
)
from djinn_memory.models import Vault
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.slugs import fold, folder, slug
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

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
