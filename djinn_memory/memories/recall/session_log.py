"""An agent's sessions: started by `wake`, marked by `checkpoint`, ended by `sleep`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, get_args

from msgspec import Struct

from djinn_memory.errors import UsageError
from djinn_memory.home import config
from djinn_memory.secrets import guard
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.state import State

OUTSIDE = "default"
"""The session name for an agent without an open session."""

MAX_NAME = 100

Step = Literal["started", "checkpointed", "ended"]
_STEPS: dict[str, Step] = {f"session.{step}": step for step in get_args(Step)}


class Session(Struct, frozen=True):
    """The state of a session after its last event."""

    id: str
    """The name of the session."""
    step: Step
    """The last event in the session."""
    at: str
    """The time of that event, as ISO 8601 in UTC."""
    note: str | None
    """The id of the last checkpoint's note."""
    named: bool
    """Whether a caller named it. Calls without that name do not belong to it."""


def open_sessions(state: State, agent: str, named: str | None = None) -> list[Session]:
    """The open sessions of an agent, most recent first, or only the one `named`.

    A session that an unnamed `wake` has reported is not reported again.
    """
    ledger = state.ledger_if_any
    events = reading.session_events(ledger, list(_STEPS), agent, named) if ledger else []
    last: dict[str, Session] = {}
    for event in events:
        note = event.data.get("note")
        before = last.pop(event.subject, None)
        last[event.subject] = Session(
            event.subject,
            _STEPS[event.kind],
            event.at,
            note if isinstance(note, str) else before.note if before else None,
            bool(event.data.get("named")),
        )
    return [session for session in reversed(last.values()) if session.step != "ended"]


def current(state: State, agent: str) -> str:
    """The session of an agent: the one in DJINN_SESSION, else the open one."""
    named = given(state, None)
    if named:
        return named
    own = (session.id for session in open_sessions(state, agent) if not session.named)
    return next(own, OUTSIDE)


def given(state: State, session: str | None) -> str | None:
    """The session in the call or in DJINN_SESSION. Raises `UsageError` for an invalid name."""
    text = session or config.variable("DJINN_SESSION")
    return name(state, text) if text else None


def name(state: State, text: str) -> str:
    """The name of a session in its stored form.

    Raises `UsageError` if it is invalid, `Refused` for a secret.
    """
    text = text.strip()
    if not text.isprintable() or not 0 < len(text) <= MAX_NAME:
        raise UsageError(f"the name of a session is one word of at most {MAX_NAME} characters")
    guard(text, what="the session's name", settings=state.home.config.secrets, option=False)
    return text


def start(state: State, agent: str, session: str | None, now: datetime) -> str:
    """Start a session of an agent, with a new name if none is given. Returns its name."""
    opened = session or new_name(now)
    event = Event("session.started", opened, {"agent": agent, "named": bool(session)})
    state.ledger.append([event])
    return opened


def end(state: State, agent: str, session: Session) -> None:
    """End a session of an agent without a handoff."""
    data = {"agent": agent, "note": None, "named": session.named}
    state.ledger.append([Event("session.ended", session.id, data)])


def new_name(now: datetime) -> str:
    """A new name for an unnamed session."""
    return f"s{now.astimezone(UTC):%Y%m%d-%H%M%S-%f}"
