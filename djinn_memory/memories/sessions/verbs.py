"""Sessions: their start and end, their history, and what is extracted from them."""

from __future__ import annotations

from djinn_memory.errors import NotFound, Remedy
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions.history import history, list_sessions
from djinn_memory.memories.sessions.requests import (
    EndedSession,
    EndSession,
    ExtractionReport,
    ExtractSessions,
    ListSessions,
    SessionHistory,
    SessionPage,
    ShowHistory,
    StartedSession,
    StartSession,
)
from djinn_memory.operations.operation import Namespace, operation


class Sessions(Namespace, name="sessions"):
    """The sessions of a home's agents."""

    @operation(StartSession, recover=False, logs=True)
    def start(self, request: StartSession) -> StartedSession:
        """Start a session of an agent. `wake` does this too, and returns its context."""
        state = self._state
        agent = state.home.agent(request.agent)
        named = session_log.given(state, request.session)
        return StartedSession(session_log.start(state, agent, named, self.runtime.now()), agent)

    @operation(EndSession, recover=False, logs=True)
    def end(self, request: EndSession) -> EndedSession:
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
        return EndedSession(own[0].id, agent)

    @operation(ListSessions)
    def list(self, request: ListSessions) -> SessionPage:
        """List the sessions of an agent that have turns or are open, newest first."""
        self.runtime.fresh_scope(request.agent)
        return list_sessions(self.runtime, request)

    @operation(ShowHistory, positional=("session",))
    def history(self, request: ShowHistory) -> SessionHistory:
        """Show the last turns of a session of an agent, oldest first, with their whole texts.

        Without a session these are the turns of the current session, or of all sessions if it has
        none. The events of calendars are left out unless their session is named.
        """
        self.runtime.fresh_scope(request.agent)
        return history(self.runtime, request)

    @operation(ExtractSessions, patient=True, writes=True)
    def extract(self, request: ExtractSessions) -> ExtractionReport:
        """Write what was stated in idle sessions as memories, each linked to its turn.

        Rules find the statements. A statement is written once: if its memory was edited, moved or
        deleted, it is not written again. Statements of tools get `status: proposed`, and so do the
        proposals of the model in the setting `llm.model`. With `dry_run` nothing is changed, and no
        model is asked.
        """
        from djinn_memory.memories.sessions.extraction.run import extract

        return extract(self.runtime, request)
