"""What an event changes in the tables that follow from the events. Pure.

An event whose data is not as its kind wants it, in a file that somebody else wrote, changes none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from djinn_memory.store.ledger.events import Event

Count = Annotated[int, Meta(ge=0, lt=2**31)]


class Statement(NamedTuple):
    """A statement and its values."""

    sql: str
    values: tuple[object, ...]


class ScoreKey(NamedTuple):
    """Whose score of what an event moves."""

    agent: str
    memory: str


class EventEffect(NamedTuple):
    """What an event changes: rows, in order, and whose score of what."""

    changes: Sequence[Statement] = ()
    pair: ScoreKey | None = None


class StoredEvent(NamedTuple):
    """An event as it stands in the ledger."""

    id: str
    at: str
    event: Event


class _By(Struct):
    agent: str
    session: str | None = None
    run: str | None = None


class _Shown(Struct):
    memory: str
    rank: Count
    title: str = ""
    hash: str | None = None
    raw: float | None = None
    score: float | None = None


class MemoryRetrieved(_By):
    """`memory.retrieved`, of a request: what one recall put before the agent."""

    query: str = ""
    source: str = "recall"
    memories: list[_Shown] = []


class MemoryOpened(_By):
    """`memory.opened`, of a memory: it was read in full."""

    hash: str | None = None


class MemoryRated(_By, kw_only=True):
    """`memory.rated`, of a memory: in the answer to a `request`, or by itself."""

    useful: bool
    request: str | None = None
    title: str = ""
    hash: str | None = None


class GapReported(_By):
    """`gap.reported`, of a gap: what the agent looked for in vain."""

    description: str = ""
    query: str | None = None


class GapClosed(Struct):
    """`gap.closed`, of a gap: by hand, or by a memory that answers it."""

    by: str | None = None


class ToolCalled(Struct):
    """`tool.called`, of a tool: what a client asked of the server."""

    agent: str | None = None
    session: str | None = None
    arguments: dict[str, Any] = {}
    outcome: str = ""
    milliseconds: float | None = None


Rows = Iterator[tuple[str, tuple[object, ...]]]


def effect(one: StoredEvent) -> EventEffect:
    """What an event changes."""
    data = _data(one)
    if data is None:
        return EventEffect()
    rule = _RULES[type(data)]
    pair = None
    if isinstance(data, MemoryOpened | MemoryRated):
        pair = ScoreKey(_text(data.agent), _text(one.event.subject))
    return EventEffect(
        [Statement(sql, tuple(map(_bound, values))) for sql, values in rule(one, data)], pair
    )


def _data(one: StoredEvent) -> Any:
    kind = _KINDS.get(one.event.kind)
    try:
        if kind is None or datetime.fromisoformat(one.at).tzinfo is None:
            return None
        # As they are read from the ledger again, so that both ways lead to the same.
        return msgspec.convert(json.loads(json.dumps(one.event.data)), kind)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError):
        return None


def _retrieved(one: StoredEvent, data: MemoryRetrieved) -> Rows:
    for shown in data.memories:
        yield _RETRIEVED, (
            f"{one.id}/{shown.rank:04}", one.event.subject, data.agent, data.session, data.run,
            shown.memory, shown.title, data.query, data.source, shown.rank, shown.raw,
            shown.score, one.at,
        )  # fmt: skip
        yield from _seen(shown.memory, shown.hash)


def _opened(one: StoredEvent, data: MemoryOpened) -> Rows:
    yield _USE, (one.id, data.agent, data.session, one.event.subject, one.at)
    yield _USED_LAST, (data.agent, one.event.subject)
    yield from _seen(one.event.subject, data.hash)


def _rated(one: StoredEvent, data: MemoryRated) -> Rows:
    yield _VALUATION, (
        one.id, data.request, data.agent, data.session, data.run, one.event.subject, data.title,
        data.useful, one.at,
    )  # fmt: skip
    if data.useful and data.request:
        yield _USED_THEN, (data.agent, one.event.subject, data.request)
    yield from _seen(one.event.subject, data.hash)


def _reported(one: StoredEvent, data: GapReported) -> Rows:
    yield _GAP, (
        one.event.subject, data.agent, data.session, data.description, data.query, one.at,
    )  # fmt: skip


def _closed(one: StoredEvent, data: GapClosed) -> Rows:
    yield _CLOSE, (data.by, one.at, one.event.subject)


def _called(one: StoredEvent, data: ToolCalled) -> Rows:
    yield _CALL, (
        one.id, one.event.subject, data.agent, data.session, json.dumps(data.arguments),
        data.outcome, data.milliseconds, one.at,
    )  # fmt: skip


def _seen(memory: str, digest: str | None) -> Rows:
    if digest:
        yield _SEEN, (memory, digest)


def _bound(value: object) -> object:
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    """Text that SQLite takes: names of files that are no text have halves of characters."""
    return value.encode("utf-8", "replace").decode()


_RETRIEVED = (
    "insert or replace into memory_retrieval_log (id, request_id, agent_id, session_id, run_id, "
    "memory_id, memory_title, query, retrieval_source, rank, raw_score, blended_score, used, "
    "created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"
)
_USE = (
    "insert into memory_uses (id, agent_id, session_id, memory_id, created_at) "
    "values (?, ?, ?, ?, ?)"
)
_USED_LAST = (
    "update memory_retrieval_log set used = 1 where id = (select id from memory_retrieval_log "
    "where agent_id = ? and memory_id = ? order by id desc limit 1)"
)
_USED_THEN = (
    "update memory_retrieval_log set used = 1 "
    "where agent_id = ? and memory_id = ? and request_id = ?"
)
_VALUATION = (
    "insert into memory_valuations (id, request_id, agent_id, session_id, run_id, memory_id, "
    "memory_title, useful, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "on conflict (memory_id, agent_id, request_id) do update set id = excluded.id, "
    "session_id = excluded.session_id, run_id = excluded.run_id, useful = excluded.useful, "
    "memory_title = excluded.memory_title, created_at = excluded.created_at"
)
_GAP = (
    "insert or ignore into memory_gaps (id, agent_id, session_id, description, query_attempted, "
    "status, created_at) values (?, ?, ?, ?, ?, 'open', ?)"
)
_CLOSE = (
    "update memory_gaps set status = 'closed', closed_by = ?, closed_at = ? "
    "where id = ? and status = 'open'"
)
_SEEN = "insert or ignore into memory_hashes (memory_id, hash) values (?, ?)"
_CALL = (
    "insert into tool_calls (id, tool, agent, session, arguments, outcome, milliseconds, "
    "created_at) values (?, ?, ?, ?, ?, ?, ?, ?)"
)

_KINDS: dict[str, type[Struct]] = {
    "memory.retrieved": MemoryRetrieved,
    "memory.opened": MemoryOpened,
    "memory.rated": MemoryRated,
    "gap.reported": GapReported,
    "gap.closed": GapClosed,
    "tool.called": ToolCalled,
}
_RULES: dict[type[Struct], Callable[[StoredEvent, Any], Rows]] = {
    MemoryRetrieved: _retrieved,
    MemoryOpened: _opened,
    MemoryRated: _rated,
    GapReported: _reported,
    GapClosed: _closed,
    ToolCalled: _called,
}
PROJECTED = tuple(_KINDS)
"""The kinds of events that change a table."""
