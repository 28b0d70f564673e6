"""Statements: the properties and relations of an entity at the time that is asked about.

The history of an entity's note has a line for each value, with its period and the key before the
value; see `memories.entities.properties`.

A statement that answers a question wholly is certain: `who led the harbour lamp in May` is answered
by `led-by: Maren Holt` in the note of the harbour lamp, since the question names the entity, the
property and a time at which the value held, and nothing else. `who painted the harbour lamp in May`
is not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta

from msgspec.structs import replace

from djinn_memory.languages.days import DayWindow
from djinn_memory.languages.word_lists import same_keys
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.fact_note import PastValue, value_of_line
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.periods import Period, first_day, held, last_day
from djinn_memory.notes.slugs import fold
from djinn_memory.search.backend import Vocabulary
from djinn_memory.search.state import Search
from djinn_memory.store.index.records import IndexedMemory

_FILLERS = frozenset("a an as at by for from had has have in is of on the to was were with".split())  # noqa: SIM905
"""Words of keys that say nothing: `led-by` is asked for with `led`."""

_OTHER_FORMS = {
    "led": "lead", "taught": "teach", "wrote": "write", "written": "write", "built": "build",
    "ran": "run", "held": "hold", "kept": "keep", "sold": "sell", "bought": "buy", "paid": "pay",
    "met": "meet", "drove": "drive", "made": "make", "chose": "choose", "chosen": "choose",
    "won": "win", "drew": "draw", "flew": "fly", "grew": "grow", "spoke": "speak",
}  # fmt: skip
"""Irregular forms of verbs that occur in the names of relations."""

_SUFFIX = 4
"""Maximum letters by which two words of one meaning differ at the end: own and owner."""

_KEYED = re.compile(r"[^:\n]+: ")

Statement = tuple[int, PastValue]
"""The number of a line, from 0, and its value, which begins with the key of the property."""


def statements(text: str) -> Iterator[Statement]:
    """The statements about properties in the text of a note, or of a part of it."""
    for number, line in enumerate(text.split("\n")):
        value = value_of_line(line) if line.startswith("- ") else None
        if value and _KEYED.match(value.value):
            yield number, value


def then(
    listed: Sequence[Statement], at: str | None, windows: Sequence[DayWindow]
) -> list[Statement]:
    """The statements that held at a time, or else on a day of one of these windows."""
    by_key: dict[str, list[Statement]] = {}
    for each in listed:
        by_key.setdefault(each[1].value.partition(": ")[0], []).append(each)
    chosen: list[Statement] = []
    for group in by_key.values():
        values = holding([value for _, value in group], at, windows)
        chosen += [each for each in group if each[1] in values]
    return chosen


def holding(
    values: Sequence[PastValue], at: str | None, windows: Sequence[DayWindow]
) -> list[PastValue]:
    """The values of one key that held at a time, or else on a day of one of these windows."""
    if at:
        value = held(values, at)
        return [value] if value else []
    starts = {value.valid_from for value in values}
    return [
        value
        for value in values
        if any(_days(value.period, starts).meets(window) for window in windows)
    ]


def answering(
    listed: Sequence[Statement], question: frozenset[str], vocabulary: Vocabulary
) -> list[Statement]:
    """The statements that have most words of a question; none if no statement has any.

    `question` are the stems of its content words.
    """
    shares = [
        len(question.intersection(vocabulary.stemmed(" ".join(vocabulary.split(value.value)))))
        for _, value in listed
    ]
    most = max(shares, default=0)
    return [each for each, share in zip(listed, shares, strict=True) if share == most > 0]


def answers(
    search: Search, memory: IndexedMemory, listed: Sequence[Statement], time_words: frozenset[str]
) -> list[Statement]:
    """The statements about an entity that answer the question with all its words but these."""
    vocabulary = search.index.words
    asked = search.asked_words - time_words - {"now", "current", "currently"}
    names = [stems(vocabulary, name) for name in (memory.title, *memory.aliases)]
    if memory.type == "person":
        # People are called by their first names.
        names.append(stems(vocabulary, memory.title.split()[0]) if memory.title.split() else [])
    named = {stem for name in names if name and asked.issuperset(name) for stem in name}
    kind = asked.intersection(stems(vocabulary, fold(memory.type or "")))
    if kind <= named:
        kind = frozenset()
    return [
        each for each in listed if _is_asked(vocabulary, asked, named, kind, inline(each[1].value))
    ]


def _is_asked(
    vocabulary: Vocabulary,
    asked: frozenset[str],
    named: set[str],
    kind: frozenset[str],
    statement: str,
) -> bool:
    """Whether the words of a question are those of a statement and of the entity it is about."""
    key, _, value = statement.partition(": ")
    values = set(stems(vocabulary, value))
    if not (named or kind or asked.issuperset(values)):
        return False
    rest = asked - named - kind
    keyed = {stem for stem in rest if _names_key(vocabulary, key, stem)}
    return bool(keyed) and rest - keyed <= values


def _names_key(vocabulary: Vocabulary, key: str, stem: str) -> bool:
    asked = (each for name in same_keys(key) for each in stems(vocabulary, name))
    return any(_alike(stem, each) for each in asked)


def _alike(word: str, other: str) -> bool:
    """Whether two stems are of one verb or noun: led and leader, own and owner."""
    short, long = sorted((_OTHER_FORMS.get(word, word), _OTHER_FORMS.get(other, other)), key=len)
    return len(short) >= 3 and long.startswith(short) and len(long) - len(short) <= _SUFFIX


def stems(vocabulary: Vocabulary, text: str) -> list[str]:
    """The stems of the words of a name or a key, without those that say nothing."""
    words = [word for word in vocabulary.split(text) if word not in _FILLERS]
    return vocabulary.stemmed(" ".join(words))


def names_subject(search: Search, memory: IndexedMemory) -> bool:
    """Whether a question names an entity, so that its statements are worth reading."""
    names = (stems(search.index.words, name) for name in (memory.title, *memory.aliases))
    return any(name and search.asked_words.issuperset(name) for name in names)


def joined(listed: Sequence[PastValue]) -> PastValue:
    """Values as one, such as `led-by: Bob Alder; led-by: Maren Holt`."""
    values = [inline(value.value) for value in listed]
    if len(listed) == 1:
        return replace(listed[0], value=values[0])
    # The first to begin comes first.
    return PastValue(None, None, None, "; ".join(reversed(values)))


def _days(period: Period, starts: Collection[str | None]) -> DayWindow:
    """The days of a period. The next value, if there is one, takes the day on which it begins."""
    first = first_day(local_day(period.start)) if period.start else None
    last = _date(last_day(local_day(period.end)) if period.end else None)
    if last and period.end in starts and first != last.isoformat():
        last -= timedelta(days=1)
    return DayWindow(_date(first), last)


def _date(day: str | None) -> date | None:
    return date.fromisoformat(day) if day else None
