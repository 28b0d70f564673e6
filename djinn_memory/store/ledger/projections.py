"""Keeps the tables derived from events up to date, rebuilds them, or derives some of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from djinn_memory.scoring import Record, ScoringConfig, score
from djinn_memory.store.ledger.events import PROJECTED, AgentMemory, Event, StoredEvent, effect
from djinn_memory.store.sqlite import Row, rows

GAPS = ("gap.reported", "gap.closed", "gap.reopened")
"""Kinds of events whose subject is a gap."""

USES = ("memory.opened", "memory.rated")
"""Kinds of events whose subject is a memory."""

RETRIEVED = "memory.retrieved"
"""The kind of event that a recall showed memories."""


class AffectedKeys(Struct, frozen=True):
    """The subjects of events. Rows about anything else stay as they are."""

    memories: frozenset[tuple[str, str]]
    """Agents and memories."""
    gaps: frozenset[str]
    requests: frozenset[str]
    """Recalls. One that found nothing has a row without a memory."""

    @property
    def pairs(self) -> tuple[list[str], list[str]]:
        """The agents and the memories, in the same order."""
        return [agent for agent, _ in self.memories], [memory for _, memory in self.memories]

    def include(self, column: str, row: dict[str, Any]) -> bool:
        """Whether a row is about one of them. `column` is `id` for gaps, and `memory_id`."""
        if column == "id":
            return row["id"] in self.gaps
        if not row["memory_id"]:
            return row.get("request_id") in self.requests
        return (row["agent_id"], row["memory_id"]) in self.memories


def affected(events: Iterable[StoredEvent]) -> AffectedKeys:
    """The keys of the memories, gaps and requests that these events are about."""
    memories: set[tuple[str, str]] = set()
    gaps: set[str] = set()
    requests: set[str] = set()
    for _, _, event in events:
        agent = str(event.data.get("agent"))
        if event.kind in GAPS:
            gaps.add(event.subject)
        elif event.kind in USES:
            memories.add((agent, event.subject))
        elif event.kind == RETRIEVED:
            listed = event.data.get("memories")
            shown = listed if isinstance(listed, list) else []
            names = {str(each.get("memory")) for each in shown if isinstance(each, dict)}
            memories |= {(agent, name) for name in names}
            requests.add(event.subject)
    return AffectedKeys(frozenset(memories), frozenset(gaps), frozenset(requests))


VERSION = 1
"""The version of the rules in `changes` and in this module. A new version rebuilds the tables."""

TABLES = (
    "memory_retrieval_log", "memory_valuations", "memory_uses", "memory_hashes", "memory_gaps",
    "memory_scores", "tool_calls",
)  # fmt: skip


KEYED_TABLES = {
    "memory_retrieval_log": "memory_id",
    "memory_valuations": "memory_id",
    "memory_uses": "memory_id",
    "memory_gaps": "id",
    "memory_scores": "memory_id",
}
"""The tables whose rows are about memories and gaps, and the column that names these."""


def project(
    connection: apsw.Connection, events: Iterable[StoredEvent], config: ScoringConfig
) -> None:
    """Update the tables with these events, in the transaction that writes the events."""
    changed: dict[AgentMemory, str] = {}
    for event in events:
        statements, key = effect(event)
        for sql, values in statements:
            connection.execute(sql, values)
        if key:
            changed[key] = event.at
    _score(connection, changed, config)


def current(connection: apsw.Connection, config: ScoringConfig) -> bool:
    """Whether the tables were derived with the current rules and settings."""
    projected = rows(connection, "select version, scoring from projected")
    return projected == [(VERSION, _settings(config))]


def renew(connection: apsw.Connection, config: ScoringConfig) -> None:
    """Rebuild all tables if the rules have changed, or the scores if the settings have."""
    if current(connection, config):
        return
    version = connection.execute("select version from projected").get
    if version != VERSION:
        rebuild(connection, config)
        return
    pairs = rows(connection, "select agent_id, memory_id, updated_at from memory_scores")
    _score(connection, {(agent, memory): at for agent, memory, at in pairs}, config)
    _mark(connection, config)


def rebuild(connection: apsw.Connection, config: ScoringConfig) -> None:
    """Rebuild all tables from the events, inside the caller's transaction."""
    for table in TABLES:
        connection.execute(f"delete from {table}")
    project(connection, _all(connection), config)
    _mark(connection, config)


def _all(connection: apsw.Connection) -> Iterator[StoredEvent]:
    events = connection.execute(
        "select id, at, kind, subject, data from event "
        "where kind in (select value from json_each(?)) order by id",
        (json.dumps(PROJECTED),),
    )
    return parse_events(events)


def _score(
    connection: apsw.Connection, changed: Mapping[AgentMemory, str], config: ScoringConfig
) -> None:
    for key, at in changed.items():
        record = _record(connection, key)
        rate = record.useful / record.valuations if record.valuations else None
        connection.execute(
            "insert or replace into memory_scores (agent_id, memory_id, access_count, "
            "valuation_count, useful_count, not_useful_count, usefulness_rate, adaptive_score, "
            "last_used, last_valued, updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *key, record.uses, record.valuations, record.useful, record.not_useful, rate,
                score(record, config, at).adaptive, record.last_used, record.last_valued, at,
            ),
        )  # fmt: skip


def _record(connection: apsw.Connection, key: AgentMemory) -> Record:
    """An agent's uses and ratings of a memory. A useful rating counts as a use."""
    agent, memory = key
    values = (memory, agent)
    [(opened, last_opened)] = rows(
        connection,
        "select count(*), max(created_at) from memory_uses where memory_id = ? and agent_id = ?",
        values,
    )
    [(useful, rated, last_rated, last_useful)] = rows(
        connection,
        "select coalesce(sum(useful), 0), count(*), max(created_at), "
        "max(created_at) filter (where useful) "
        "from memory_valuations where memory_id = ? and agent_id = ?",
        values,
    )
    last = max(filter(None, (last_opened, last_useful)), default=None)
    return Record(opened + useful, useful, rated - useful, last, last_rated)


def _mark(connection: apsw.Connection, config: ScoringConfig) -> None:
    connection.execute("delete from projected")
    connection.execute("insert into projected values (?, ?)", (VERSION, _settings(config)))


def _settings(config: ScoringConfig) -> str:
    return msgspec.json.encode(config).decode()


def parse_events(events: Iterable[Row]) -> Iterator[StoredEvent]:
    """Events from their rows of id, time, kind, subject and data."""
    for key, at, kind, subject, text in events:
        yield StoredEvent(key, at, Event(kind, subject, parse_data(text)))


def parse_data(text: str) -> dict[str, object]:
    """An event's data. Text that is not a JSON object, as in a foreign file, returns no data."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


_SCRIPTS = Path(__file__).parent / "schema"


TableReader = Callable[[str], Iterator[dict[str, Any]]]
"""Reads the rows of a table, with their values by column."""


def _rows_by_column(connection: apsw.Connection, table: str) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(f"select * from {table}")
    for row in cursor:
        names = (name for name, *_ in cursor.getdescription())
        yield dict(zip(names, row, strict=True))


@contextmanager
def derived_tables(events: Iterable[StoredEvent], config: ScoringConfig) -> Iterator[TableReader]:
    """The tables that follow from these events, by the rules of the ledger."""
    with closing(apsw.Connection(":memory:")) as connection:
        for script in sorted(_SCRIPTS.glob("[0-9]*.sql")):
            connection.execute(script.read_text(encoding="utf-8"))
        unique = {stored.id: stored for stored in events}
        with connection:
            ordered = (unique[key] for key in sorted(unique))
            project(connection, ordered, config)
        yield partial(_rows_by_column, connection)
