"""Events, ids that sort in their order, and the changes of each kind of event in the tables."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

EPISODE_PURGED = "episode.purged"
"""The kind of the event that an episode was purged. Its subject is the id. Another import must not
record the episode again."""

MEMORY_MOVED = "memory.moved"
"""The kind of the event that a memory without an id has another place. Its subject is the new one.
Its data has the place before, and the hash of the text that it had, by which its earlier events are
found."""

TOOL_CALLED = "tool.called"
"""The kind of the event that a client called a tool."""

KEY_ADDED, KEY_REVOKED = "key.added", "key.revoked"
"""Kinds of events of a key of the HTTP server, by the name of the key."""

_TAIL = 62
"""Number of random bits in a UUID, after the bits that sort it."""


class Event(Struct, frozen=True):
    """An event."""

    kind: str
    """The kind of event, as `noun.verb`."""
    subject: str
    """The memory, document, session or other object of the event."""
    data: dict[str, Any]
    at: str = ""
    """The time of the event, as ISO 8601 in UTC."""


def uuid7(*, after: str = "") -> str:
    """A UUID of version 7 (RFC 9562). Later UUIDs sort later, and each sorts after `after`."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    # 12 bits hold the fraction of the millisecond, which keeps the order within it.
    ticks = milliseconds << 12 | (nanoseconds << 12) // 1_000_000
    if after:
        ticks = max(ticks, _ticks(after) + 1)
    tail = int.from_bytes(os.urandom(8)) & (1 << _TAIL) - 1
    value = ticks >> 12 << 80 | 7 << 76 | (ticks & 0xFFF) << 64 | 2 << _TAIL | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _ticks(identity: str) -> int:
    """The time of a UUID, in 4096ths of a millisecond."""
    value = int(identity.replace("-", ""), 16)
    # A UUID of a later version, which is foreign, sorts behind all of ours of its millisecond.
    fraction = value >> 64 & 0xFFF if value >> 76 & 0xF <= 7 else 0xFFF
    return value >> 80 << 12 | fraction


def now() -> str:
    """The current time in the format of events."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Count = Annotated[int, Meta(ge=0, lt=2**31)]


AgentMemory = tuple[str, str]
"""The agent and the memory of a score."""


class StoredEvent(NamedTuple):
    """An event in the ledger, with its id and time."""

    id: str
    at: str
    event: Event


class _Actor(Struct):
    agent: str
    session: str | None = None
    run: str | None = None


class _RetrievedMemory(Struct):
    memory: str
    rank: Count
    title: str = ""
    hash: str | None = None
    raw: float | None = None
    score: float | None = None


class _MemoryRetrieved(_Actor):
    """`memory.retrieved`, of a request: the memories that a recall showed to the agent."""

    query: str = ""
    source: str = "recall"
    memories: list[_RetrievedMemory] = []


class _MemoryOpened(_Actor):
    """`memory.opened`, of a memory: the agent read it in full."""

    hash: str | None = None


class _MemoryRated(_Actor, kw_only=True):
    """`memory.rated`, of a memory: the agent rated it, in the answer to a `request` or alone."""

    useful: bool
    request: str | None = None
    title: str = ""
    hash: str | None = None


class _MemoryMoved(Struct):
    """`memory.moved`, of a memory: it has a new place."""

    was: str
    hash: str


class _GapReported(_Actor):
    """`gap.reported`, of a gap: the agent looked for this knowledge and did not find it."""

    description: str = ""
    query: str | None = None


class _GapClosed(Struct):
    """`gap.closed`, of a gap: someone closed it, or a memory answers it."""

    by: str | None = None


class _GapReopened(Struct):
    """`gap.reopened`, of a gap: someone found that it is not answered."""


class ToolCalled(Struct):
    """`tool.called`, of a tool: a client called it."""

    agent: str | None = None
    client: str | None = None
    session: str | None = None
    arguments: dict[str, Any] = {}
    outcome: str = ""
    milliseconds: float | None = None


D = TypeVar("D", bound=Struct)

Statement = tuple[str, tuple[object, ...]]
"""An SQL statement and its values."""

Statements = Iterator[Statement]


def effect(stored: StoredEvent) -> tuple[Sequence[Statement], AgentMemory | None]:
    """The statements of an event, in order, and the score that the event changes."""
    known = _KINDS.get(stored.event.kind)
    data = read_data(stored, known[0]) if known else None
    if not known or data is None:
        return (), None
    statements = known[1](stored, data)
    key = None
    if isinstance(data, _MemoryOpened | _MemoryRated):
        key = _encodable(data.agent), _encodable(stored.event.subject)
    return [(sql, tuple(map(_encodable, values))) for sql, values in statements], key


def read_data(stored: StoredEvent, form: type[D]) -> D | None:
    """The data of an event; None if its data, or its time, is not as djinn writes it."""
    try:
        if datetime.fromisoformat(stored.at).tzinfo is None:
            return None
        # In the form in which a rebuild reads it from the ledger, so that both give the same.
        data = json.loads(json.dumps(stored.event.data))
        return msgspec.convert(data, form)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError):
        return None


def _retrieved(stored: StoredEvent, data: _MemoryRetrieved) -> Statements:
    # A recall that found nothing is a row too: a gap may belong to its question.
    for memory in data.memories or [_RetrievedMemory("", 0)]:
        yield _RETRIEVED, (
            f"{stored.id}/{memory.rank:04}", stored.event.subject, data.agent, data.session,
            data.run, memory.memory, memory.title, data.query, data.source, memory.rank,
            memory.raw, memory.score, stored.at,
        )  # fmt: skip
        yield from _seen(memory.memory, memory.hash)


def _opened(stored: StoredEvent, data: _MemoryOpened) -> Statements:
    memory = stored.event.subject
    yield _USE, (stored.id, data.agent, data.session, memory, stored.at)
    yield _USED_LAST, (data.agent, memory)
    yield from _seen(memory, data.hash)


def _rated(stored: StoredEvent, data: _MemoryRated) -> Statements:
    memory = stored.event.subject
    yield _VALUATION, (
        stored.id, data.request, data.agent, data.session, data.run, memory, data.title,
        data.useful, stored.at,
    )  # fmt: skip
    if data.useful and data.request:
        yield _USED_THEN, (data.agent, memory, data.request)
    yield from _seen(memory, data.hash)


def _moved(stored: StoredEvent, data: _MemoryMoved) -> Statements:
    for memory in (data.was, stored.event.subject):
        yield from _seen(memory, data.hash)


def _reported(stored: StoredEvent, data: _GapReported) -> Statements:
    yield _GAP, (
        stored.event.subject, data.agent, data.session, data.description, data.query, stored.at,
    )  # fmt: skip


def _closed(stored: StoredEvent, data: _GapClosed) -> Statements:
    yield _CLOSE, (data.by, stored.at, stored.event.subject)


def _reopened(stored: StoredEvent, data: _GapReopened) -> Statements:
    yield _REOPEN, (stored.event.subject,)


def _called(stored: StoredEvent, data: ToolCalled) -> Statements:
    yield _CALL, (
        stored.id, stored.event.subject, data.agent, data.session, json.dumps(data.arguments),
        data.outcome, data.milliseconds, stored.at,
    )  # fmt: skip


def _seen(memory: str, digest: str | None) -> Statements:
    if digest:
        yield _SEEN, (memory, digest)


def _encodable(value: Any) -> Any:
    """A value that SQLite accepts. Undecodable file names contain lone surrogates."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


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
_REOPEN = (
    "update memory_gaps set status = 'open', closed_by = null, closed_at = null "
    "where id = ? and status = 'closed'"
)
_SEEN = "insert or ignore into memory_hashes (memory_id, hash) values (?, ?)"
_CALL = (
    "insert into tool_calls (id, tool, agent, session, arguments, outcome, milliseconds, "
    "created_at) values (?, ?, ?, ?, ?, ?, ?, ?)"
)

_KINDS: dict[str, tuple[type[Struct], Callable[[StoredEvent, Any], Statements]]] = {
    "memory.retrieved": (_MemoryRetrieved, _retrieved),
    "memory.opened": (_MemoryOpened, _opened),
    "memory.rated": (_MemoryRated, _rated),
    MEMORY_MOVED: (_MemoryMoved, _moved),
    "gap.reported": (_GapReported, _reported),
    "gap.closed": (_GapClosed, _closed),
    "gap.reopened": (_GapReopened, _reopened),
    TOOL_CALLED: (ToolCalled, _called),
}
PROJECTED = tuple(_KINDS)
"""The kinds of events that change a table."""
