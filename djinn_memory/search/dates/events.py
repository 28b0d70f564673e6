"""Events: finds the days of `the launch` in the memories, for `before the launch`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from djinn_memory.search.candidates import Search
from djinn_memory.search.dates.memory_days import days_of
from djinn_memory.search.dates.question import NamedEvent, QuestionDates, around_event
from djinn_memory.search.legs.words_query import compose, content
from djinn_memory.store.index.records import IndexedMemory, WordMatch

READ = 200
"""Chunks with all words of the event that are read. An event in more chunks is no single one."""

LONGEST = timedelta(days=3)
"""Maximum length of an event. Memories further apart speak of several events, or of plans."""


def dates_of_event(search: Search, event: NamedEvent, today: date) -> QuestionDates | None:
    """The period before, after or during an event; None if its days are uncertain.

    The days are those of the memories that are called like the event, else of those with all its
    words in the title, else of those with all its words in the text. They count only if they are
    close together.
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
        days = [window for memory in group if (window := days_of(memory, today))]
        if days:
            first = min(window.first for window in days if window.first)
            last = max(window.last for window in days if window.last)
            if last - first > LONGEST:
                return None
            window = around_event(event, first, last)
            # The event is a subject: what was said about it comes first.
            return QuestionDates((event.words,), (window,), False, False)
    return None


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
