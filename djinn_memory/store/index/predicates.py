"""The meaning of a selection: predicates that a memory must meet.

It is pure. Each store turns each kind of predicate into SQL, in one table: `SQLITE` in
`store.index.local.sqlite_tables`, `POSTGRES` in `store.postgres.index.postgres_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from djinn_memory.home import access
from djinn_memory.models import Filters
from djinn_memory.notes.slugs import fold, name_key, tag_key
from djinn_memory.store.index.records import Forms, Selection

Kind = Literal[
    "type", "plane", "field", "stated", "tag", "path", "since", "until", "unexpired", "began",
    "id", "hash", "place", "name", "memory", "chunk", "holding", "first", "journal",
]  # fmt: skip
"""The kind of a comparison, and its values:

| kind | values |
|---|---|
| `type`, `plane` | types or planes, of which the memory has one |
| `field` | a key of the front matter, and values of which the memory has one |
| `stated` | keys of the front matter, of which the memory has one |
| `tag` | a tag: the memory has it or one below it, such as `project/x` for `project` |
| `path` | parts of paths, of which the path contains one |
| `since`, `until` | a time in UTC for memories with a time, and a day for those with a day |
| `unexpired` | values of `expires` that have passed |
| `began` | a time in UTC, its day, and numbers of memories that state when they began to hold |
| `id`, `hash` | ids, or hashes in hexadecimal, of which the memory has one |
| `place` | places as the part of the index has them, of which the memory has one |
| `name` | a name in the form of `name_key` |
| `memory`, `chunk` | the numbers of memories or chunks |
| `holding` | the numbers of chunks, of which the memory has one |
| `first` | none: the chunk is the first of its memory |
| `journal` | none: other memories are in the same file |

Texts are folded as the index has them. A day begins and ends in the time zone of this machine."""


class Predicate(NamedTuple):
    """A condition on a memory, or on a chunk."""

    kind: Kind
    values: tuple[Any, ...]
    holds: bool = True
    """False requires the opposite."""


class _PartFacts(Protocol):
    """The data that predicates need of the part of an index from which they select."""

    def expired(self, now: datetime) -> tuple[str, ...]:
        """The values of `expires` that have passed. A day ends in the local time zone."""

    def periods(self) -> Iterable[tuple[int, str | None, str | None]]:
        """The memories, except facts, that state `valid_from` or `valid_to`, with both."""

    def chunks_with(self, phrase: Forms) -> Sequence[int]:
        """The chunks that contain a phrase in any of its forms."""

    def places(self, places: Sequence[tuple[str, str]]) -> Iterable[object]:
        """The places, out of the given pairs of vault and path, that are in the part."""


def predicates(
    selection: Selection, part: _PartFacts, *, chunks: bool = False
) -> Iterator[Predicate]:
    """The predicates of a selection, apart from its vaults; none of them if it includes all.

    With `chunks`, the chunk itself must contain the phrases.
    """
    yield from _filters(selection.filters)
    at = selection.filters.as_of
    if at:
        yield from _held(at, part)
    now = datetime.fromisoformat(at) if at and selection.now else selection.now
    if now and (expired := part.expired(now)):
        yield Predicate("unexpired", expired)
    for phrase in dict.fromkeys(selection.phrases):
        yield Predicate("chunk" if chunks else "holding", tuple(part.chunks_with(phrase)))
    for phrase in dict.fromkeys(selection.without):
        yield Predicate("holding", tuple(part.chunks_with(phrase)), False)
    if chunks and selection.first_chunk:
        yield Predicate("first", ())
    if selection.ids is not None:
        yield Predicate("id", selection.ids)
    if selection.hashes is not None:
        yield Predicate("hash", selection.hashes)
    if selection.places is not None:
        yield Predicate("place", tuple(part.places(selection.places)))
    if selection.name is not None:
        yield Predicate("name", (name_key(selection.name),))
    if selection.whole_files:
        yield Predicate("journal", (), False)


def _filters(filters: Filters) -> Iterator[Predicate]:
    """A memory needs only one of several types, planes, domains or paths, but all the tags."""
    if filters.types:
        yield Predicate("type", tuple(map(fold, filters.types)))
    if filters.planes:
        yield Predicate("plane", filters.planes)
    if filters.domains:
        yield Predicate("field", (access.DOMAIN, *map(fold, filters.domains)))
    for tag in filters.tags:
        yield _tag(tag)
    if filters.paths:
        yield Predicate("path", tuple(map(fold, filters.paths)))
    for key, value in filters.excluded:
        yield _named(key, value)._replace(holds=False)
    if filters.since or filters.until:
        yield from _between(filters.since, filters.until)
    for key, value in filters.where:
        yield Predicate("field", (fold(key), fold(value)))


def _named(key: str, value: str) -> Predicate:
    """The predicate of `key:value` in a query."""
    match key:
        case "tag":
            return _tag(value)
        case "path" | "type" | "plane":
            return Predicate(key, (fold(value),))
    return Predicate("field", (fold(key), fold(value)))


def _tag(tag: str) -> Predicate:
    return Predicate("tag", (tag_key(tag.rstrip("/:")),))


def _between(since: str | None, until: str | None) -> Iterator[Predicate]:
    from djinn_memory.notes.dates import day_begins, day_ends
    from djinn_memory.notes.periods import first_day, last_day

    if since:
        day = first_day(since)
        yield Predicate("since", (day if "T" in day else day_begins(day), day))
    if until:
        day = last_day(until)
        yield Predicate("until", (day if "T" in day else day_ends(day), day))


def _held(at: str, part: _PartFacts) -> Iterator[Predicate]:
    """A memory has a period that began and has not ended, or was created before a time.

    A fact is left out only if its note was made later and tells of no earlier value. Whether it
    had a value stands in its history, which the index does not know.
    """
    from djinn_memory.notes.dates import local_day
    from djinn_memory.notes.periods import period_of

    periods = {memory: period_of(begin, end) for memory, begin, end in part.periods()}
    out = tuple(memory for memory, period in periods.items() if not period.covers(at))
    yield Predicate("memory", out, False)
    begun = (memory for memory, period in periods.items() if period.start)
    yield Predicate("began", (at, local_day(at), *begun))
