"""The notes that mark sessions: checkpoints and handoffs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec.structs import replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.session_log import OUTSIDE, Step
from djinn_memory.memories.sessions.background import start_extraction
from djinn_memory.memories.sessions.requests import Checkpoint, Handoff
from djinn_memory.memories.writing.remember import RememberResult, remember
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Problem
from djinn_memory.notes.dates import local_day
from djinn_memory.runtime import Runtime
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
    written = _mark(runtime, request, "handoff", request.summary, parts)
    start_extraction(runtime)
    return written


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


HANDOFF_RULE = "maintain.sessions"
"""The rule of the handoffs, which also marks the events of sessions that upkeep ended."""


def ended_by_upkeep(runtime: Runtime, agent: str) -> list[str]:
    """The lines of `wake` about the sessions that upkeep ended since the last session began."""
    return [
        f"Session {session.id} was left open. Upkeep ended it on {local_day(session.at)}."
        for session in session_log.ended_by(runtime.state, agent, HANDOFF_RULE)
    ]
