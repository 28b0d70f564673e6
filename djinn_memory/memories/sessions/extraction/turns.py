"""The turns that extraction has not read yet, and its record in the ledger.

The ledger knows which sessions were read, and which claims were taken. A claim that was taken is
never taken again, whatever becomes of its note. Two events stand around the writing of a note.
After a crash between them, the note tells what happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.episodes.journals import home_name_if_any
from djinn_memory.memories.episodes.reading import EPISODES, FIELDS, EpisodeText, read_episodes
from djinn_memory.memories.sessions.extraction.claims import Claim, claim_digest, key_digest
from djinn_memory.memories.sessions.requests import SessionExtraction
from djinn_memory.models import Filters
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.state import State

BEGUN, TAKEN, VALUED, READ = (
    "extraction.begun", "extraction.taken", "extraction.valued", "extraction.read",
)  # fmt: skip
"""The kinds of events: the first two of a claim, by its digest; the third of a fact, by the digest
of its name; the fourth of a session."""

Outcome = Literal["written", "known"]


class _ReadMark(Struct, frozen=True):
    """How far a session was read."""

    through: str
    """The time of the last turn that was read."""
    last: int
    """The number of turns of that second that were read."""
    turns: int
    """The number of turns of the whole session at that time."""


class ExtractionLog:
    """The extractions of one agent. Without `keep` new ones are not written to the ledger.

    It reads the events of what it is asked about, however many there are.
    """

    def __init__(self, state: State, agent: str, *, keep: bool = True) -> None:
        self._keep = keep
        self._state = state
        self._agent = agent
        self._events: dict[str, list[Event]] = {}
        """The events of claims and facts that were read or appended, by subject, oldest first."""

    def marks(self, sessions: Sequence[str]) -> dict[str, _ReadMark]:
        """How far these sessions were read, by name without case. Unread ones are left out."""
        ledger = self._state.ledger_if_any
        names = [*{name for session in sessions for name in (session, session.casefold())}]
        marks: dict[str, _ReadMark] = {}
        for event in reading.events_of(ledger, (READ,), names) if ledger else ():
            through, last, turns = (event.data.get(name) for name in ("through", "last", "turns"))
            own = event.data.get("agent") == self._agent
            if own and isinstance(last, int) and isinstance(turns, int):
                marks[event.subject.casefold()] = _ReadMark(str(through or ""), last, turns)
        return marks

    def was_taken(self, claim: Claim, said: str) -> bool:
        """Whether a claim of a turn at a time was taken before.

        The value of a fact counts anew if another value was taken after it and before this turn.
        """
        digest = claim_digest(self._agent, claim)
        if not self._has(TAKEN, digest):
            return False
        values = self._of(key_digest(self._agent, claim)) if claim.is_keyed else []
        last = max(enumerate(values), key=lambda entry: (_said(entry[1]), entry[0]), default=None)
        return last is None or last[1].data.get("claim") == digest or said <= _said(last[1])

    def returns(self, claim: Claim) -> bool:
        """Whether the value of a fact was taken before, and then another one."""
        return self._has(TAKEN, claim_digest(self._agent, claim))

    def was_begun(self, claim: Claim) -> bool:
        """Whether the writing of a claim was interrupted."""
        events = self._of(claim_digest(self._agent, claim))
        return bool(events) and events[-1].kind == BEGUN

    def _has(self, kind: str, digest: str) -> bool:
        return any(event.kind == kind for event in self._of(digest))

    def _of(self, subject: str) -> list[Event]:
        """The events of a claim or of a fact."""
        if subject not in self._events:
            ledger = self._state.ledger_if_any
            kinds = (BEGUN, TAKEN, VALUED)
            self._events[subject] = reading.events_of(ledger, kinds, [subject]) if ledger else []
        return self._events[subject]

    def begin(self, claim: Claim, session: str, said: str) -> None:
        """Record that the note of a claim is about to be written."""
        self._append(self._event(BEGUN, claim, session, said))

    def take(
        self, claim: Claim, session: str, said: str, outcome: Outcome, memory: str | None
    ) -> None:
        """Record that a claim was written, or that it was known."""
        events = [self._event(TAKEN, claim, session, said, outcome=outcome, memory=memory)]
        if claim.is_keyed:
            digest = claim_digest(self._agent, claim)
            data = {"agent": self._agent, "said": said, "claim": digest}
            events.append(Event(VALUED, key_digest(self._agent, claim), data))
        self._append(*events)

    def read(self, session: str, mark: _ReadMark) -> None:
        """Record how far a session was read."""
        data = {
            "agent": self._agent, "through": mark.through, "last": mark.last, "turns": mark.turns,
        }  # fmt: skip
        self._append(Event(READ, session.casefold(), data))

    def _event(self, kind: str, claim: Claim, session: str, said: str, **more: str | None) -> Event:
        data = {"agent": self._agent, "session": session, "said": said, **more}
        return Event(kind, claim_digest(self._agent, claim), data)

    def _append(self, *events: Event) -> None:
        # Read the ledger before the append, because afterwards it contains these events.
        known = [self._of(event.subject) for event in events if event.kind != READ]
        if self._keep:
            self._state.ledger.append(events)
        for stored, event in zip(known, events, strict=False):
            stored.append(event)


def extractions(state: State, agent: str) -> dict[str, SessionExtraction]:
    """What was extracted from the sessions of an agent, by name without case."""
    ledger, outcomes = state.ledger_if_any, Counter[tuple[object, object]]()
    read: dict[str, str] = {}
    for event in reading.agent_events(ledger, (TAKEN, READ), agent) if ledger else ():
        if event.kind == READ:
            read[event.subject.casefold()] = event.at
        else:
            outcomes[str(event.data.get("session")).casefold(), event.data.get("outcome")] += 1
    return {
        name: SessionExtraction(at, outcomes[name, "written"], outcomes[name, "known"])
        for name, at in read.items()
    }


def _said(event: Event) -> str:
    """The time of the turn of an event."""
    return str(event.data.get("said") or "")


class UnreadSession(Struct, frozen=True):
    """A session with turns that were not read."""

    session: str
    """The name of the session."""
    turns: tuple[EpisodeText, ...]
    """The turns that were not read, oldest first."""
    mark: _ReadMark
    """How far it is read after these."""


def unread_sessions(
    runtime: Runtime, agent: str, log: ExtractionLog, session: str | None
) -> Iterator[UnreadSession]:
    """The sessions with unread turns, the one with the oldest last turn first.

    Only idle sessions count, and only turns that this home recorded: another home with the same
    vault has a ledger of its own, and reads its own. With a `session`, all its turns count.
    """
    vault = runtime.home.personal(agent)
    filters = EPISODES
    if session is None:
        name = home_name_if_any(runtime.home)
        if name is None:
            return
        # A file name such as `2026-11-20.laptop-k3f9.md` or `2026-11-20.laptop-k3f9-2.md`.
        filters = replace(EPISODES, paths=(f".{name}",))
    else:
        filters = replace(EPISODES, where=(("session", session),))
    idle = timedelta(minutes=runtime.home.config.sessions.idle_minutes)
    latest = moment(runtime.now() - idle)
    with runtime.index([vault]) as index:
        groups = index.groups("session", Selection(filters))
    if session is None:
        groups = [group for group in groups if group.last <= latest]
    marks = log.marks([group.value for group in groups])
    for group in groups:
        mark = marks.get(group.value.casefold())
        if session is None and mark and (mark.turns, mark.through) == (group.count, group.last):
            continue
        within_session = replace(filters, where=(("session", group.value),))
        turns = _turns(runtime, agent, within_session, None if session else mark, group.count)
        if turns:
            last = turns[-1].memory.date
            count = sum(turn.memory.date == last for turn in turns)
            if mark and mark.through == last and len(turns) < group.count and not session:
                count += mark.last
            yield UnreadSession(group.value, tuple(turns), _ReadMark(last, count, group.count))


def _turns(
    runtime: Runtime, agent: str, filters: Filters, mark: _ReadMark | None, total: int
) -> list[EpisodeText]:
    """The turns of a session after a mark, oldest first; all if turns were added before it."""
    vault = runtime.home.personal(agent)
    since = replace(filters, since=mark.through) if mark else filters
    with runtime.index([vault]) as index:
        memories = [*index.memories(Selection(since), fields=FIELDS)][::-1]
        if mark:
            memories = memories[mark.last :]
            if mark.turns + len(memories) != total:
                memories = [*index.memories(Selection(filters), fields=FIELDS)][::-1]
    return [*read_episodes(runtime, memories)]
