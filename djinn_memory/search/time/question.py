"""Reads the period that a question asks about: `last Tuesday`, `before the launch`. Pure."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from msgspec import Struct

from djinn_memory.languages.date_phrases import DatePhrase, date_phrases
from djinn_memory.languages.days import DayWindow, has_calendar_words
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.search.query import QuestionDates

LONGEST = 250
"""Maximum characters of a question with dates. A longer one is a text that tells its subject."""

_COMING = re.compile(
    r"\b(?:will|shall|going\s+to|upcoming|coming\s+up|scheduled|due|appointments?|next)\b",
    re.IGNORECASE,
)
"""Words of a question about the future. A month without a year is then the next one."""

_EVENT = re.compile(
    r"\b(?P<side>before|after|since|during|until|following)\s+"
    r"(?P<name>(?:the|our|my|his|her|their|your|[A-Z][\w.-]*['\u2019]s)\s+"
    r"[\w'\u2019-]+(?:\s+[\w'\u2019-]+){0,4})"
)
_EVENT_ENDS = re.compile(
    r"\s+(?:to|in|on|with|and|or|at|from|for|did|do|does|was|were|is|are|that|which|who|when|how"
    r"|what|where|why|has|had|have|we|i|you|he|she|they|it|by|about|as|involving|regarding|last"
    r"|this|next|ago)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_NO_EVENT = frozenset({
    "fact", "first", "following", "last", "latter", "next", "other", "others", "rest", "same",
    "second", "third", "way", "time", "times", "day", "week", "month", "year", "days", "weeks",
    "months", "years", "weekend", "past", "future", "end", "beginning", "start", "whole", "most",
    "line", "loop", "function", "call", "request", "response", "colon", "comma",
})  # fmt: skip

_GENERAL = frozenset({
    "ago", "all", "anything", "appointment", "appointments", "been", "chat", "chatted",
    "conversation", "conversations", "decide", "decided", "decision", "decisions", "did",
    "discuss", "discussed", "do", "doing", "done", "event", "events", "everything", "go",
    "going", "happen", "happened", "happening", "happens", "learn", "learned", "learnt", "list",
    "meet", "meeting", "meetings", "memories", "memory", "met", "nothing", "plan", "planned",
    "said", "say", "show", "something", "speak", "spoke", "talk", "talked", "talks", "tell",
    "thing", "things", "us", "went", "work", "worked", "working",
})  # fmt: skip
"""Words that name no subject: `what did we discuss` asks for all memories of a time."""

_Side = Literal["before", "after", "during"]
_SIDES: dict[str, _Side] = {"before": "before", "until": "before", "during": "during"}
"""The sides of prepositions other than `after`, `since` and `following`."""


class NamedEvent(Struct, frozen=True):
    """An event in a question, whose date only the memories know."""

    words: str
    """The words of the question, such as `before the launch`."""
    name: str
    """The name of the event, such as `the launch`."""
    side: _Side
    """Where the wanted period lies; `after` includes `since`, and `before` includes `until`."""


def dates_in_question(question: str, today: date) -> QuestionDates | None:
    """The periods that a question asks about; None for most questions.

    Relative words count from `today`. A month without a year is the most recent one, unless the
    question is about the future.
    """
    if len(question) > LONGEST or not has_calendar_words(question):
        return None
    phrases = date_phrases(question, today, coming=bool(_COMING.search(question)))
    if not phrases:
        return None
    rest = _without(question, [(each.start, each.stop) for each in phrases])
    everything = _names_no_subject(rest)
    return QuestionDates(
        tuple(question[phrase.start : phrase.stop] for phrase in phrases),
        _together(phrases),
        all(phrase.yearly for phrase in phrases),
        everything,
        question if everything else rest,
    )


def event_in_question(question: str) -> NamedEvent | None:
    """The event before, after or during which something happened; None for most questions."""
    for match in _EVENT.finditer(question[:LONGEST]):
        name = _EVENT_ENDS.sub("", match["name"])
        words = [word for word in re.findall(r"[\w'\u2019-]+", name)[1:] if word]
        if not words or words[-1].lower() in _NO_EVENT or words[0].lower() in _NO_EVENT:
            continue
        stop = match.start("name") + len(name)
        side = _SIDES.get(match["side"].lower(), "after")
        return NamedEvent(question[match.start() : stop], name, side)
    return None


def around_event(event: NamedEvent, first: date, last: date) -> DayWindow:
    """The period beside an event that lasted from `first` to `last`.

    It includes the days of the event: memories of an event also tell its causes.
    """
    if event.side == "before":
        return DayWindow(None, last)
    return DayWindow(first, last if event.side == "during" else None)


def _together(phrases: list[DatePhrase]) -> tuple[DayWindow, ...]:
    """The periods of several expressions: `in May` and `last year` are one, two days are two."""
    windows: list[DayWindow] = []
    fixed = [phrase.window for phrase in phrases if not phrase.yearly]
    for phrase in phrases:
        window = phrase.window
        if phrase.yearly and fixed:
            earlier = (window.earlier(years) for years in range(-1, 10))
            window = next((moved for moved in earlier if _common(moved, fixed[0])), window)
        for at, other in enumerate(windows):
            if common := _common(window, other):
                windows[at] = common
                break
        else:
            windows.append(window)
    return tuple(windows)


def _common(first: DayWindow, second: DayWindow) -> DayWindow | None:
    """The days that two periods share."""
    begins = [day for day in (first.first, second.first) if day]
    ends = [day for day in (first.last, second.last) if day]
    begin, end = max(begins, default=None), min(ends, default=None)
    if begin and end and begin > end:
        return None
    return DayWindow(begin, end)


def _without(question: str, spans: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, stop in spans:
        parts.append(question[at:start])
        at = stop
    return " ".join(" ".join([*parts, question[at:]]).split()).strip(" ,;")


def _names_no_subject(text: str) -> bool:
    """Whether a question without its words for a time has only words such as `what did I do`."""
    words = re.findall(r"[^\W_]+", re.sub(r"['\u2019]\w+", "", text.lower()))
    return all(word in _GENERAL or word in stop_words() for word in words)
