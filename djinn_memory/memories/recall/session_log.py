"""An agent's sessions: started by `wake`, marked by `checkpoint`, ended by `sleep`."""

from __future__ import annotations

from collections.abc import Sequence
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
    by: str | None = None
    """The rule by which upkeep ended it."""


def open_sessions(state: State, agent: str, named: str | None = None) -> list[Session]:
    """The open sessions of an agent, most recent first, or only the one `named`.

    A session that an unnamed `wake` has reported is not reported again.
    """
    sessions = _since_last_start(state, agent, named)
    return [session for session in reversed(sessions) if session.step != "ended"]


def ended_by(state: State, agent: str, rule: str) -> list[Session]:
    """The sessions that upkeep ended by a rule since the last unnamed session began."""
    return [session for session in _since_last_start(state, agent) if session.by == rule]


def all_open(state: State, agent: str) -> list[Session]:
    """The open sessions of an agent, also named ones that began before the last unnamed one.

    An unnamed session is over when the next unnamed one begins.
    """
    ledger = state.ledger_if_any
    events = reading.agent_events(ledger, list(_STEPS), agent) if ledger else []
    sessions = _sessions(events)
    unnamed = [session.id for session in sessions if not session.named]
    return [
        session for session in sessions
        if session.step != "ended" and (session.named or session.id == unnamed[-1])
    ]  # fmt: skip


def _since_last_start(state: State, agent: str, named: str | None = None) -> list[Session]:
    ledger = state.ledger_if_any
    return _sessions(reading.session_events(ledger, list(_STEPS), agent, named) if ledger else [])


def _sessions(events: Sequence[Event]) -> list[Session]:
    """The sessions of events, in the order of their last events."""
    last: dict[str, Session] = {}
    for event in events:
        note, by = event.data.get("note"), event.data.get("by")
        before = last.pop(event.subject, None)
        last[event.subject] = Session(
            event.subject,
            _STEPS[event.kind],
            event.at,
            note if isinstance(note, str) else before.note if before else None,
            bool(event.data.get("named")),
            by if isinstance(by, str) else None,
        )
    return [*last.values()]


def current(state: State, agent: str, session: str | None = None) -> str:
    """The session of an agent: the one in the call or in DJINN_SESSION, else the open one."""
    named = given(state, session)
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


def end(state: State, agent: str, session: Session, *, by: str | None = None) -> None:
    """End a session of an agent. `by` is the rule by which upkeep ends it."""
    data: dict[str, object] = {"agent": agent, "note": None, "named": session.named}
    data |= {"by": by} if by else {}
    state.ledger.append([Event("session.ended", session.id, data)])


def new_name(now: datetime) -> str:
    """A new name for an unnamed session."""
    return f"s{now.astimezone(UTC):%Y%m%d-%H%M%S-%f}"
