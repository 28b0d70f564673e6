"""The ledger's record of extraction: which sessions were read, and which claims were taken.

A claim that was taken is never taken again, whatever becomes of its note. Two events stand around
the writing of a note. After a crash between them, the note tells what happened.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from djinn_memory.memories.sessions.extraction.claim import Claim, claim_digest, key_digest
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.state import State

BEGUN, TAKEN, READ = "extraction.begun", "extraction.taken", "extraction.read"
"""The kinds of events: the first two of a claim, by its digest, the third of a session."""

Outcome = Literal["written", "known"]


class ReadMark(Struct, frozen=True):
    """How far a session was read."""

    through: str
    """The time of the last turn that was read."""
    last: int
    """The number of turns of that second that were read."""
    turns: int
    """The number of turns of the whole session at that time."""


class ExtractionLog:
    """The extractions of one agent. Without `keep` new ones are not written to the ledger."""

    def __init__(self, state: State, agent: str, *, keep: bool = True) -> None:
        self._keep = keep
        self._state = state
        self._agent = agent
        self._said: dict[str, str] = {}
        """The time of the turn of each claim that was taken, by its digest."""
        self._begun: set[str] = set()
        self._keys: dict[str, tuple[str, str]] = {}
        """The last value taken for each fact, by the digest of its name: digest and time."""
        self._marks: dict[str, ReadMark] = {}
        ledger = state.ledger_if_any
        for event in reading.agent_events(ledger, (BEGUN, TAKEN, READ), agent) if ledger else ():
            self._apply(event)

    def mark(self, session: str) -> ReadMark | None:
        """How far a session was read; None if it never was."""
        return self._marks.get(session.casefold())

    def was_taken(self, claim: Claim, said: str) -> bool:
        """Whether a claim of a turn at a time was taken before.

        The value of a fact counts anew if another value was taken after it and before this turn.
        """
        digest = claim_digest(self._agent, claim)
        if digest not in self._said:
            return False
        last = self._keys.get(key_digest(self._agent, claim))
        return last is None or last[0] == digest or said <= last[1]

    def returns(self, claim: Claim) -> bool:
        """Whether the value of a fact was taken before, and then another one."""
        return claim_digest(self._agent, claim) in self._said

    def was_begun(self, claim: Claim) -> bool:
        """Whether the writing of a claim was interrupted."""
        return claim_digest(self._agent, claim) in self._begun

    def begin(self, claim: Claim, session: str, said: str) -> None:
        """Record that the note of a claim is about to be written."""
        self._append(self._event(BEGUN, claim, session, said, {}))

    def take(
        self, claim: Claim, session: str, said: str, outcome: Outcome, memory: str | None
    ) -> None:
        """Record that a claim was written, or that it was known."""
        more = {"outcome": outcome, "memory": memory}
        self._append(self._event(TAKEN, claim, session, said, more))

    def read(self, session: str, mark: ReadMark) -> None:
        """Record how far a session was read."""
        data = {
            "agent": self._agent, "through": mark.through, "last": mark.last, "turns": mark.turns,
        }  # fmt: skip
        self._append(Event(READ, session, data))

    def _event(
        self, kind: str, claim: Claim, session: str, said: str, more: dict[str, str | None]
    ) -> Event:
        data = {
            "agent": self._agent,
            "session": session,
            "key": key_digest(self._agent, claim),
            "said": said,
            **more,
        }
        return Event(kind, claim_digest(self._agent, claim), data)

    def _append(self, event: Event) -> None:
        if self._keep:
            self._state.ledger.append([event])
        self._apply(event)

    def _apply(self, event: Event) -> None:
        data = event.data
        said, key = str(data.get("said") or ""), str(data.get("key") or "")
        if event.kind == BEGUN:
            self._begun.add(event.subject)
        elif event.kind == TAKEN:
            self._begun.discard(event.subject)
            self._said[event.subject] = said
            if key and said >= self._keys.get(key, ("", ""))[1]:
                self._keys[key] = event.subject, said
        elif event.kind == READ:
            through, last, turns = (data.get(name) for name in ("through", "last", "turns"))
            if isinstance(last, int) and isinstance(turns, int):
                mark = ReadMark(str(through or ""), last, turns)
                self._marks[event.subject.casefold()] = mark
