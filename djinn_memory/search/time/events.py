"""The days that memories are from, and those of an event, for `before the launch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.languages.date_phrases import date_phrases
from djinn_memory.languages.days import DayWindow
from djinn_memory.search.legs.words_query import compose, content
from djinn_memory.search.state import Search
from djinn_memory.search.time.question import NamedEvent, QuestionDates, around_event
from djinn_memory.store.index.records import IndexedMemory, WordMatch

READ = 200
"""Chunks with all words of the event that are read. An event in more chunks is no single one."""

LONGEST = timedelta(days=3)
"""Maximum length of an event. Memories further apart speak of several events."""

MOST = 3
"""Maximum number of events that could be meant. More are what recurs, or a word that is common."""


class _DatedEvent(Struct, frozen=True):
    """Memories that tell of one event."""

    memories: tuple[IndexedMemory, ...]
    """The memories, the one that the words of the event match best first."""
    window: DayWindow
    """From the first of their days to the last."""


def days_of(memory: IndexedMemory, today: date) -> DayWindow | None:
    """The days that a memory is from; None if only its file has a time.

    They are its own date, or a date with a year in its title. The day on which a document was
    ingested does not count.
    """
    if memory.plane == "documents":
        return None
    if memory.dated:
        day = _local_day(memory.date)
        return DayWindow(day, day) if day else None
    for phrase in date_phrases(memory.title, today):
        if not phrase.yearly and phrase.window.first and phrase.window.last:
            return phrase.window
    return None


def _local_day(text: str) -> date | None:
    try:
        if "T" not in text:
            return date.fromisoformat(text[:10])
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone().date()
    except (ValueError, OverflowError):
        return None


def dates_of_event(search: Search, event: NamedEvent, today: date) -> QuestionDates | None:
    """The period before, after or during an event; None if its days are uncertain.

    The days are those of the memories that are called like the event, else of those with all its
    words in the title, else of those with all its words in the text. If they tell of several
    events, the one that answers the whole question best is meant.
    """
    words = compose(search.index.words, (event.name,), ())
    if words is None or not words.terms:
        return None
    match = WordMatch(words.terms, every=True)
    refs = search.index.words.search(match, search.selection, READ)
    if len(refs) == READ:
        return None
    memories = search.lookup({ref.memory_id for ref in refs})
    for group in _groups(search, event, [memories[ref.memory_id] for ref in refs]):
        events = _events(group, today)
        if len(events) > MOST:
            return None
        if events:
            events = _best_first(search, events)
            first, last = events[0].window.first, events[0].window.last
            assert first and last
            window = around_event(event, first, last)
            several = tuple(map(_shown, events)) if events[1:] else ()
            # The event is a subject: what was said about it comes first.
            return QuestionDates((event.words,), (window,), False, False, several)
    return None


def _events(memories: Sequence[IndexedMemory], today: date) -> list[_DatedEvent]:
    """The events that memories tell of, by their days. Memories without days tell of none."""
    dated = [(days, memory) for memory in memories if (days := days_of(memory, today))]
    events: list[_DatedEvent] = []
    for days, memory in sorted(dated, key=lambda entry: (entry[0].first, entry[0].last)):
        first, last = days.first, days.last
        assert first and last
        before = events[-1].window if events else None
        if before and before.first and before.last and last - before.first <= LONGEST:
            window = DayWindow(before.first, max(before.last, last))
            events[-1] = _DatedEvent((*events[-1].memories, memory), window)
        else:
            events.append(_DatedEvent((memory,), days))
    return [
        replace(event, memories=tuple(sorted(event.memories, key=memories.index)))
        for event in events
    ]


def _best_first(search: Search, events: list[_DatedEvent]) -> list[_DatedEvent]:
    """Events in the order in which their memories answer the question."""
    scores: dict[int, float] = {}
    for candidate in search.candidates:
        key = candidate.memory_id
        scores[key] = max(scores.get(key, 0.0), candidate.score)

    def score(event: _DatedEvent) -> float:
        return max(scores.get(memory.memory_id, 0.0) for memory in event.memories)

    return sorted(events, key=score, reverse=True)


def _shown(event: _DatedEvent) -> str:
    return f"{event.memories[0].title} ({event.window.first})"


def _groups(
    search: Search, event: NamedEvent, memories: list[IndexedMemory]
) -> Iterator[list[IndexedMemory]]:
    """The memories called like the event, those with its words in the title, and all of them."""
    vocabulary = search.index.words
    name = content(vocabulary, event.name)
    titles = [content(vocabulary, memory.title) for memory in memories]
    pairs = [*zip(memories, titles, strict=True)]
    yield [memory for memory, title in pairs if title == name]
    yield [memory for memory, title in pairs if name <= title]
    yield memories
