"""Periods: prefers memories that still hold, and finds the values that facts had at a time."""

from __future__ import annotations

from contextlib import suppress

from msgspec import UNSET

from djinn_memory.errors import DjinnError
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.periods import Period, period_of
from djinn_memory.search.candidates import Search, ValueThen
from djinn_memory.store.index.records import IndexedMemory

ENDED = 0.8
"""The factor for a memory that no longer holds: below one that answers about as well, but above one
that hardly answers."""

FRONT = 50
"""Number of best candidates whose periods are compared. Few hits come from lower ranks."""


def period(memory: IndexedMemory) -> Period:
    """The period of a memory in its front matter."""
    return period_of(memory.field("valid_from"), memory.field("valid_to"))


def prefer_current(search: Search) -> None:
    """Lower the scores of memories whose period has ended, and sort again.

    A search as of a day leaves those out that had ended by then.
    """
    if search.as_of:
        return
    front, now = search.candidates[:FRONT], moment(search.runtime.now())
    memories = search.lookup(candidate.memory_id for candidate in front)
    ended = False
    for candidate in front:
        if period(memories[candidate.memory_id]).ended(now):
            candidate.score *= ENDED
            ended = True
    if ended:
        search.candidates.sort(key=lambda candidate: -candidate.score)


def holds(search: Search, memory: IndexedMemory, vault: Vault) -> bool:
    """Whether a memory of a search as of a time held then.

    The index cannot tell for facts. Their notes are read, and their values are added to
    `search.values`. Without a time this is done for a fact whose current value has not begun.
    """
    at = search.as_of
    if memory.plane != "knowledge" or memory.block is not UNSET:
        return True
    if memory.type != "fact":
        return _entity_held(search, memory, vault)
    if not at and period(memory).begun(now := moment(search.runtime.now())):
        return True
    # Imported here: few searches read a fact.
    from djinn_memory.notes.fact_note import line_of, timeline
    from djinn_memory.notes.note import parse

    value = None
    with suppress(OSError, DjinnError):
        note = parse(memory.path, search.source.read(vault, memory.path), vault.dialect)
        values = timeline(note)
        value = values.on(at or now)
        if value and (at or value != values.current):
            line = line_of(note, value)
            search.values[memory.memory_id] = ValueThen(at or now, line, value)
    return value is not None or not at


def _entity_held(search: Search, memory: IndexedMemory, vault: Vault) -> bool:
    """Whether an entity was known at the time of a search, or had a property then.

    If one of its properties answers the question, it is added to `search.values`.
    """
    at, now = search.as_of, moment(search.runtime.now())
    from djinn_memory.search.stages.relations import answers, names_subject

    if not (at or search.windows or names_subject(search, memory)):
        return True
    from djinn_memory.notes.note import parse
    from djinn_memory.search.stages.statements import answering, joined, statements, then

    with suppress(OSError, DjinnError):
        note = parse(memory.path, search.source.read(vault, memory.path), vault.dialect)
        asks_for_time = at or search.windows
        when = at if asks_for_time else now
        listed = then([*statements(note.text)], when, search.windows)
        whole = answers(search, memory, listed)
        if whole:
            search.answered.add(memory.memory_id)
        best = whole or (
            answering(listed, search.asked_words, search.index.words) if asks_for_time else []
        )
        if best:
            search.values[memory.memory_id] = ValueThen(at or now, best[0][0] + 1, joined(best))
        if listed or not asks_for_time:
            return True
    return not at or memory.created is None or (period(memory).covers(at) and memory.created <= at)
