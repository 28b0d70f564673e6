"""Now: what a search prefers and shows when its question asks about no other time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import UNSET

from djinn_memory.errors import DjinnError
from djinn_memory.languages.days import DayWindow
from djinn_memory.models import AskedPeriod, Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.periods import Period, period_of
from djinn_memory.search.candidate import Candidate
from djinn_memory.search.state import Search, ValueThen
from djinn_memory.store.index.records import IndexedMemory

ENDED = 0.8
"""The factor for a memory that no longer holds: below one that answers about as well, but above one
that hardly answers."""

FRONT = 50
"""Number of best candidates whose periods are compared. Few hits come from lower ranks."""


def period(memory: IndexedMemory) -> Period:
    """The period of a memory in its front matter."""
    return period_of(memory.field("valid_from"), memory.field("valid_to"))


class Now:
    """The present, or the time of the filters. Other times extend it; see `search.state.AskedTime`.

    The index cannot tell which value a fact or an entity had at a time. Their notes are read.
    """

    windows: tuple[DayWindow, ...] = ()
    time_words: frozenset[str] = frozenset()
    """The stems of the words of the question that name the time."""

    def __init__(self, search: Search) -> None:
        self.past = bool(search.as_of)
        self.now = moment(search.runtime.now())
        self.values: dict[int, ValueThen] = {}
        self.answered: set[int] = set()

    def put_first(self, search: Search) -> None:
        """Nothing: the present is preferred by `prefer_current`."""

    def prefer_current(self, search: Search) -> None:
        """Lower the scores of memories whose period has ended, and sort again.

        A search as of a day leaves those out that had ended by then.
        """
        if search.as_of:
            return
        front = search.candidates[:FRONT]
        memories = search.memories_of(front)
        ended = [each for each in front if period(memories[each.memory_id]).ended(self.now)]
        for candidate in ended:
            candidate.score *= ENDED
        if ended:
            search.candidates.sort(key=lambda candidate: -candidate.score)

    def arranged(self, search: Search, chosen: list[Candidate]) -> list[Candidate]:
        """The chosen candidates, those that answer wholly first."""
        return sorted(chosen, key=lambda candidate: candidate.memory_id not in self.answered)

    def judged(self, chosen: Sequence[Candidate]) -> bool | None:
        """None: the scores decide."""
        return None

    def shown(self) -> tuple[AskedPeriod, ...]:
        """No period."""
        return ()

    def held(self, search: Search, memory: IndexedMemory, vault: Vault) -> bool:
        """Whether a memory held at the time of the filters.

        Without a time this is asked for a fact whose current value has not begun.
        """
        at = search.as_of
        if memory.plane != "knowledge" or memory.block is not UNSET:
            return True
        if memory.type != "fact":
            return self._entity_held(search, memory, vault)
        if not at and period(memory).begun(self.now):
            return True
        # Imported here: few searches read a fact.
        from djinn_memory.notes.fact_note import line_of, timeline
        from djinn_memory.notes.note import parse

        value, when = None, at or self.now
        with suppress(OSError, DjinnError):
            note = parse(memory.path, search.source.read(vault, memory.path), vault.dialect)
            values = timeline(note)
            value = values.on(when)
            if value and (at or value != values.current):
                self.values[memory.memory_id] = ValueThen(when, line_of(note, value), value)
        return value is not None or not at

    def _entity_held(self, search: Search, memory: IndexedMemory, vault: Vault) -> bool:
        """Whether an entity was known at the time of a search, or had a property then.

        If one of its properties answers the question, it is added to the values.
        """
        from djinn_memory.search.time.statements import (
            answering,
            answers,
            joined,
            names_subject,
            statements,
            then,
        )

        at, asks_for_time = search.as_of, bool(search.as_of or self.windows)
        if not (asks_for_time or names_subject(search, memory)):
            return True
        from djinn_memory.notes.note import parse

        with suppress(OSError, DjinnError):
            note = parse(memory.path, search.source.read(vault, memory.path), vault.dialect)
            listed = then([*statements(note.text)], at if asks_for_time else self.now, self.windows)
            best = answers(search, memory, listed, self.time_words)
            if best:
                self.answered.add(memory.memory_id)
            elif asks_for_time:
                best = answering(listed, search.asked_words, search.index.words)
            if best:
                line = best[0][0] + 1
                self.values[memory.memory_id] = ValueThen(at or self.now, line, joined(best))
            if listed or not asks_for_time:
                return True
        if not at or memory.created is None:
            return True
        return period(memory).covers(at) and memory.created <= at
