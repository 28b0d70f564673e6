"""Lists the sessions of an agent."""

from __future__ import annotations

from contextlib import suppress
from operator import attrgetter

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.memories.episodes.reading import EPISODES, FIELDS
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions.history import turns_of
from djinn_memory.memories.sessions.session_requests import (
    ListedSession,
    ListSessions,
    SessionPage,
)
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.narrowing import day
from djinn_memory.store.index.records import Selection


def list_sessions(runtime: Runtime, request: ListSessions) -> SessionPage:
    """The sessions of an agent, newest first; see `Sessions.list`."""
    agent, now = runtime.home.agent(request.agent), runtime.now()
    since, until = day("since", request.since, now), day("until", request.until, now)
    where = (("channel", request.channel),) if request.channel else ()
    narrowed = replace(EPISODES, since=since, until=until, where=where)
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        opened = _open(runtime, agent)
        groups = index.groups("session", Selection(EPISODES))
        listed = {
            fold(group.value): ListedSession(
                group.value, agent, group.count, group.first, group.last, None, None,
                fold(group.value) in opened,
            )
            for group in groups
        }  # fmt: skip
        if narrowed != EPISODES:
            names = {fold(group.value) for group in index.groups("session", Selection(narrowed))}
            listed = {name: session for name, session in listed.items() if name in names}
        else:
            listed = {**opened, **listed}
        newest = sorted(listed.values(), key=attrgetter("last", "session"), reverse=True)
        page = newest[request.skip : request.skip + request.limit]
        return SessionPage(tuple(_with_program(index, session) for session in page), len(newest))


def _open(runtime: Runtime, agent: str) -> dict[str, ListedSession]:
    """The open sessions of an agent by folded name, as if they had no turns."""
    with suppress(DjinnError):
        return {
            fold(session.id): ListedSession(
                session.id, agent, 0, session.at, session.at, None, None, True
            )
            for session in session_log.open_sessions(runtime.state, agent)
        }
    return {}


def _with_program(index: Index, session: ListedSession) -> ListedSession:
    """A session with the channel and the program of its last turn."""
    turns = Selection(turns_of(session.session))
    last = next(iter(index.memories(turns, limit=1, fields=FIELDS)), None)
    if last is None:
        return session
    return replace(session, channel=last.field("channel"), client=last.field("client"))
