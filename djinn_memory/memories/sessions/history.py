"""The turns of an agent's sessions, in sequence, and the list of its sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import attrgetter

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.memories.episodes.reading import (
    EPISODES,
    FIELDS,
    EpisodeText,
    as_episode,
    read_episodes,
)
from djinn_memory.memories.episodes.requests import CALENDAR
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions.requests import (
    ListedSession,
    ListSessions,
    SessionHistory,
    SessionPage,
    SessionTurn,
    ShowHistory,
)
from djinn_memory.models import Filters, extended
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.narrowing import day
from djinn_memory.search.suggest import near_names
from djinn_memory.store.index.records import IndexedMemory, Selection


def history(runtime: Runtime, request: ShowHistory) -> SessionHistory:
    """The last turns of a session, or without one of the current session or of all sessions."""
    agent = runtime.home.agent(request.agent)
    limit = request.last or runtime.home.config.sessions.history
    session = session_log.given(runtime.state, request.session)
    if session is None:
        # Without the ledger the turns of all sessions are shown.
        with suppress(DjinnError):
            current = session_log.current(runtime.state, agent)
            if current != session_log.OUTSIDE and _count(runtime, agent, current):
                session = current
    turns = tuple(map(_turn, _last_turns(runtime, agent, limit, session)))
    near = () if turns or session is None else near_sessions(runtime, agent, session)
    return SessionHistory(session, turns, _count(runtime, agent, session), near)


def _last_turns(
    runtime: Runtime,
    agent: str,
    limit: int,
    session: str | None = None,
    domains: Sequence[str] = (),
) -> list[EpisodeText]:
    """The last turns of an agent's session, or of all its sessions, oldest first.

    With `domains`, only turns of one of these domains.
    """
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        selection = Selection(replace(turns_of(session), domains=tuple(domains)))
        memories = [*index.memories(selection, limit=limit, fields=FIELDS)]
    return [*read_episodes(runtime, reversed(memories))]


def previous_turns(
    runtime: Runtime, agent: str, limit: int, session: str | None, domains: Sequence[str] = ()
) -> list[EpisodeText]:
    """The last turns of the last conversation before `session`, oldest first.

    With `domains`, only turns of one of these domains count.

    Sessions that only have observations, such as calendars, are no conversations.
    """
    excluded = (("session", session),) if session else ()
    types = ("interaction",)
    before = replace(EPISODES, types=types, excluded=excluded, domains=tuple(domains))
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        last = next(iter(index.memories(Selection(before), limit=1, fields=FIELDS)), None)
    name = last.field("session") if last else None
    return _last_turns(runtime, agent, limit, name, domains) if name else []


def near_sessions(runtime: Runtime, agent: str, name: str) -> tuple[str, ...]:
    """The sessions with turns whose names are similar to a name that has none."""
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        groups = index.groups("session", Selection(EPISODES))
    return tuple(near_names(name, (group.value for group in reversed(groups))))


def turns_of(session: str | None) -> Filters:
    """The filters that select the turns of a session, or of all sessions but those of calendars."""
    if session:
        return replace(EPISODES, where=(("session", session),))
    return replace(EPISODES, excluded=(("channel", CALENDAR),))


def spoken_lines(message: str, response: str | None, kind: str | None) -> Iterator[str]:
    """A turn as paragraphs that say who spoke."""
    yield f"{'User' if kind == 'interaction' else (kind or 'turn').capitalize()}: {message}"
    if response:
        yield f"Agent: {response}"


def _count(runtime: Runtime, agent: str, session: str | None) -> int:
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        return index.count(Selection(turns_of(session)))


def _turn(text: EpisodeText) -> SessionTurn:
    memory: IndexedMemory = text.memory
    return extended(
        as_episode(memory),
        SessionTurn,
        message=text.message,
        response=text.response,
        context=text.context,
        client=memory.field("client"),
    )


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
