"""Sessions: their start and end, their history, and the extraction from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import attrgetter

from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound, Remedy
from djinn_memory.memories.episodes import reading
from djinn_memory.memories.episodes.requests import CALENDAR
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions import requests
from djinn_memory.memories.sessions.background import forget_failure, start_extraction
from djinn_memory.memories.sessions.extraction.turns import extractions
from djinn_memory.models import Filters, Memory, extended
from djinn_memory.notes.slugs import fold
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.narrowing import day
from djinn_memory.store.index.records import Selection


class Sessions(Namespace, name="sessions"):
    """The sessions of a home's agents."""

    @operation(requests.StartSession, recover=False, logs=True)
    def start(self, request: requests.StartSession) -> requests.StartedSession:
        """Start a session of an agent. `wake` does this too, and returns its context."""
        state = self._state
        agent = state.home.agent(request.agent)
        named = session_log.given(state, request.session)
        started = session_log.start(state, agent, named, self.runtime.now())
        start_extraction(self.runtime)
        return requests.StartedSession(started, agent)

    @operation(requests.EndSession, recover=False, logs=True)
    def end(self, request: requests.EndSession) -> requests.EndedSession:
        """End a session of an agent. `sleep` does this too, and writes a handoff.

        Raises `NotFound` if no such session is open.
        """
        state = self._state
        agent = state.home.agent(request.agent)
        named = session_log.given(state, request.session)
        open_sessions = session_log.open_sessions(state, agent, named)
        own = [session for session in open_sessions if named or not session.named]
        if not own:
            which = f"session {named} is not open" if named else "no session is open"
            raise NotFound(which, Remedy("sessions.start", purpose="start one"))
        session_log.end(state, agent, own[0])
        start_extraction(self.runtime)
        return requests.EndedSession(own[0].id, agent)

    @operation(requests.ListSessions)
    def list(self, request: requests.ListSessions) -> requests.SessionPage:
        """List the sessions of an agent that have turns or are open, newest first."""
        self.runtime.fresh_scope(request.agent)
        agent, now = self.runtime.home.agent(request.agent), self.runtime.now()
        since, until = day("since", request.since, now), day("until", request.until, now)
        where = (("channel", request.channel),) if request.channel else ()
        narrowed = replace(reading.EPISODES, since=since, until=until, where=where)
        with self.runtime.index(self.runtime.home.personal_vaults(agent)) as index:
            opened = _open(self.runtime, agent)
            groups = index.groups("session", Selection(reading.EPISODES))
            listed = {
                fold(group.value): requests.ListedSession(
                    group.value, agent, group.count, group.first, group.last, None, None,
                    fold(group.value) in opened,
                )
                for group in groups
            }  # fmt: skip
            if narrowed != reading.EPISODES:
                groups = index.groups("session", Selection(narrowed))
                names = {fold(group.value) for group in groups}
                listed = {name: session for name, session in listed.items() if name in names}
            else:
                listed = {**opened, **listed}
            newest = sorted(listed.values(), key=attrgetter("last", "session"), reverse=True)
            page = newest[request.skip : request.skip + request.limit]
            read = _extractions(self.runtime, agent)
            sessions = tuple(
                replace(_with_program(index, session), extracted=read.get(fold(session.session)))
                for session in page
            )
        return requests.SessionPage(sessions, len(newest))

    @operation(requests.ShowHistory, positional=("session",))
    def history(self, request: requests.ShowHistory) -> requests.SessionHistory:
        """Show the last turns of a session of an agent, oldest first, with their whole texts.

        Without a session these are the turns of the current session, or of all sessions if it has
        none. The events of calendars are left out unless their session is named.
        """
        self.runtime.fresh_scope(request.agent)
        agent = self.runtime.home.agent(request.agent)
        limit = request.last or self.runtime.home.config.sessions.history
        session = session_log.given(self.runtime.state, request.session)
        if session is None:
            # Without the ledger the turns of all sessions are shown.
            with suppress(DjinnError):
                current = session_log.current(self.runtime.state, agent)
                if current != session_log.OUTSIDE and _count(self.runtime, agent, current):
                    session = current
        texts = last_turns(self.runtime, agent, limit, session)
        with self.runtime.index(self.runtime.home.scope(agent)) as index:
            derived = reading.derived_from(index, [text.memory for text in texts])
            notes = [*index.memories(_marks_of(session))] if session else []
        turns = tuple(_turn(text, derived[text.memory.memory_id]) for text in texts)
        near = (
            () if turns or session is None else reading.near_sessions(self.runtime, agent, session)
        )
        total = _count(self.runtime, agent, session)
        read = _extractions(self.runtime, agent).get(fold(session or ""))
        return requests.SessionHistory(
            session, turns, total, near, read, fold(session or "") in _open(self.runtime, agent),
            tuple(extended(note, Memory) for note in notes),
        )  # fmt: skip

    @operation(requests.ExtractSessions, patient=True, writes=True)
    def extract(self, request: requests.ExtractSessions) -> requests.ExtractionReport:
        """Write the statements in idle sessions as memories, each linked to its turn.

        Rules find the statements. A statement is written once: if its memory was edited, moved or
        deleted, it is not written again. Statements of tools get `status: proposed`, and so do the
        proposals of the model in the setting `llm.model`. With `dry_run` nothing is changed, and no
        model is asked.
        """
        from djinn_memory.memories.sessions.extraction.run import extract

        report = extract(self.runtime, request)
        if not (request.dry_run or report.problems):
            forget_failure(self.runtime)
        return report


def last_turns(
    runtime: Runtime, agent: str, limit: int, session: str | None, domains: Sequence[str] = ()
) -> list[reading.EpisodeText]:
    """The last turns of an agent's session, or of all its sessions, oldest first.

    With `domains`, only turns of one of these domains.
    """
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        selection = Selection(replace(turns_of(session), domains=tuple(domains)))
        memories = [*index.memories(selection, limit=limit, fields=reading.FIELDS)]
    return [*reading.read_episodes(runtime, reversed(memories))]


def previous_turns(
    runtime: Runtime, agent: str, limit: int, session: str | None, domains: Sequence[str]
) -> list[reading.EpisodeText]:
    """The last turns of the last conversation before `session`, oldest first.

    With `domains`, only turns of one of these domains count.

    Sessions that only have observations, such as calendars, are no conversations.
    """
    excluded = (("session", session),) if session else ()
    types = ("interaction",)
    before = replace(reading.EPISODES, types=types, excluded=excluded, domains=tuple(domains))
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        last = next(iter(index.memories(Selection(before), limit=1, fields=reading.FIELDS)), None)
    name = last.field("session") if last else None
    return last_turns(runtime, agent, limit, name, domains) if name else []


def turns_of(session: str | None) -> Filters:
    """The filters that select the turns of a session, or of all sessions but those of calendars."""
    if session:
        return replace(reading.EPISODES, where=(("session", session),))
    return replace(reading.EPISODES, excluded=(("channel", CALENDAR),))


def spoken_lines(message: str, response: str | None, kind: str | None) -> Iterator[str]:
    """A turn as paragraphs that say who spoke."""
    yield f"{'User' if kind == 'interaction' else (kind or 'turn').capitalize()}: {message}"
    if response:
        yield f"Agent: {response}"


def _count(runtime: Runtime, agent: str, session: str | None) -> int:
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        return index.count(Selection(turns_of(session)))


def _marks_of(session: str) -> Selection:
    """The handoff and the checkpoints of a session."""
    return Selection(Filters(types=("handoff", "checkpoint"), where=(("session", session),)))


def _turn(text: reading.EpisodeText, derived: Sequence[Memory]) -> requests.SessionTurn:
    return extended(
        reading.as_episode(text.memory),
        requests.SessionTurn,
        message=text.message,
        response=text.response,
        context=text.context,
        client=text.memory.field("client"),
        derived=tuple(derived),
    )


def _open(runtime: Runtime, agent: str) -> dict[str, requests.ListedSession]:
    """The open sessions of an agent by folded name, as if they had no turns."""
    with suppress(DjinnError):
        return {
            fold(session.id): requests.ListedSession(
                session.id, agent, 0, session.at, session.at, None, None, True
            )
            for session in session_log.open_sessions(runtime.state, agent)
        }
    return {}


def _extractions(runtime: Runtime, agent: str) -> dict[str, requests.SessionExtraction]:
    """The extractions from the sessions of an agent; none if the ledger cannot be read."""
    with suppress(DjinnError):
        read = extractions(runtime.state, agent)
        return {fold(name): extraction for name, extraction in read.items()}
    return {}


def _with_program(index: Index, session: requests.ListedSession) -> requests.ListedSession:
    """A session with the channel and the program of its last turn."""
    turns = Selection(turns_of(session.session))
    last = next(iter(index.memories(turns, limit=1, fields=reading.FIELDS)), None)
    if last is None:
        return session
    return replace(session, channel=last.field("channel"), client=last.field("client"))
