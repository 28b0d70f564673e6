"""An agent's sessions: opened by `wake`, marked by `checkpoint`, ended by `sleep`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Unavailable, UsageError
from djinn_memory.home import config
from djinn_memory.models import Problem
from djinn_memory.secrets import guard
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.memories.writing.remember import RememberResult

OUTSIDE = "default"
"""The session of whoever has opened none."""

MAX_NAME = 100

SHOWN = 60
"""Characters of what was said that go into a title."""

Step = Literal["started", "checkpointed", "ended"]
_STEPS: dict[str, Step] = {f"session.{step}": step for step in get_args(Step)}


class Session(Struct, frozen=True):
    """A session as its last event leaves it."""

    id: str
    """What it is called."""
    step: Step
    """The last that happened in it."""
    at: str
    """When, as ISO 8601 in UTC."""
    note: str | None
    """The id of the last checkpoint's note."""
    named: bool
    """Whether somebody named it, who will name it again: others are not in it."""


def open_sessions(state: State, agent: str, named: str | None = None) -> list[Session]:
    """The sessions of `agent` that were not ended, the last heard of first; or the one `named`.

    Those of which the last `wake` that named none told already are not among them.
    """
    ledger = state.ledger_if_any
    found = reading.session_events(ledger, list(_STEPS), agent, named) if ledger else []
    last: dict[str, Session] = {}
    for event in found:
        note = event.data.get("note")
        before = last.pop(event.subject, None)
        last[event.subject] = Session(
            event.subject,
            _STEPS[event.kind],
            event.at,
            note if isinstance(note, str) else before.note if before else None,
            bool(event.data.get("named")),
        )
    return [one for one in reversed(last.values()) if one.step != "ended"]


def current(state: State, agent: str) -> str:
    """The session that `agent` is in: what DJINN_SESSION names, else the one that is open."""
    named = given(state, None)
    if named:
        return named
    own = (one.id for one in open_sessions(state, agent) if not one.named)
    return next(own, OUTSIDE)


def given(state: State, session: str | None) -> str | None:
    """The session that is named, in a call or by DJINN_SESSION; `UsageError` for what is none."""
    text = session or config.session_from_environment()
    return name(state, text) if text else None


def name(state: State, text: str) -> str:
    """A session's name as it is kept; `UsageError` for what is none, `Refused` for a secret."""
    text = text.strip()
    if not text.isprintable() or not 0 < len(text) <= MAX_NAME:
        raise UsageError(f"a session's name is a word of at most {MAX_NAME} characters")
    guard(text, what="the session's name", settings=state.home.config.secrets, option=False)
    return text


def start(state: State, agent: str, session: str | None, now: datetime) -> str:
    """Open a session of `agent`, a new one if none is named; returns its name."""
    made = session or _minted(now)
    event = Event("session.started", made, {"agent": agent, "named": bool(session)})
    state.ledger.append([event])
    return made


def mark(
    state: State,
    models: ModelRegistry,
    agent: str,
    kind: Literal["checkpoint", "handoff"],
    said: str,
    parts: Mapping[str, Sequence[str]],
    *,
    session: str | None,
    allow_secret: bool,
    now: datetime,
) -> RememberResult:
    """Write where the work stands as a note, each time another one; a handoff ends the session.

    `parts` are points under headings, such as what is next.
    """
    # Who only asks for the session of now, as each recall does, writes nothing.
    from djinn_memory.memories.writing.remember import remember
    from djinn_memory.memories.writing.requests import NewMemory

    if not said.strip():
        raise UsageError(f"a {kind} says what was done; give a sentence")
    what = "the summary" if kind == "handoff" else "the text"
    # It is in the title too, which nobody gave.
    guard(said, what=what, settings=state.home.config.secrets, allow=allow_secret)
    problems: list[Problem] = []
    named = given(state, session)
    inside = named or _current(state, agent, problems)
    step: Step = "ended" if kind == "handoff" else "checkpointed"
    if inside == OUTSIDE and step == "checkpointed":
        # Work that nobody announced is a session too: the next `wake` is to know of it.
        inside = _minted(now)
    first = " ".join(said.split())
    first = first if len(first) <= SHOWN else f"{first[:SHOWN].rsplit(' ', 1)[0]} ..."
    when = now.astimezone().strftime("%Y-%m-%d %H:%M")
    text = [said.strip(), *(_part(head, points) for head, points in parts.items())]
    wish = NewMemory(
        kind,
        f"{kind.capitalize()} {when}: {first}",
        "\n\n".join(filter(None, text)),
        fields={"agent": agent, "session": inside},
        existing="new",
        # Whoever does the same as yesterday says so in the same words.
        force=True,
        allow_secret=allow_secret,
        agent=agent,
    )
    done = remember(state, models, wish, now)
    try:
        data = {"agent": agent, "note": done.id, "named": bool(named)}
        state.ledger.append([Event(f"session.{step}", inside, data)])
    except Unavailable as error:
        # The note is written, and says by itself what it is.
        problems = [Problem("ledger", str(error))]
    return replace(done, problems=[*done.problems, *problems])


def _minted(now: datetime) -> str:
    return f"s{now.astimezone(UTC):%Y%m%d-%H%M%S-%f}"


def _current(state: State, agent: str, problems: list[Problem]) -> str:
    try:
        return current(state, agent)
    except Unavailable as error:
        problems.append(Problem("ledger", str(error)))
        return OUTSIDE


def _part(head: str, points: Sequence[str]) -> str:
    listed = "\n".join(f"- {' '.join(point.split())}" for point in points if point.strip())
    return f"## {head}\n\n{listed}" if listed else ""
