"""Keeps the tables derived from events up to date, or rebuilds them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import apsw
import msgspec

from djinn_memory.scoring import Record, ScoringConfig, score
from djinn_memory.store.ledger.changes import PROJECTED, ScoreKey, StoredEvent, effect
from djinn_memory.store.ledger.events import Event
from djinn_memory.store.sqlite import rows

VERSION = 1
"""The version of the rules in `changes` and in this module. A new version rebuilds the tables."""

TABLES = (
    "memory_retrieval_log", "memory_valuations", "memory_uses", "memory_hashes", "memory_gaps",
    "memory_scores", "tool_calls",
)  # fmt: skip


def project(
    connection: apsw.Connection, events: Iterable[StoredEvent], config: ScoringConfig
) -> None:
    """Update the tables with these events, in the transaction that writes the events."""
    changed: dict[ScoreKey, str] = {}
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
    _score(connection, {ScoreKey(agent, memory): at for agent, memory, at in pairs}, config)
    _mark(connection, config)


def rebuild(connection: apsw.Connection, config: ScoringConfig) -> None:
    """Rebuild all tables from the events, inside the caller's transaction."""
    for table in TABLES:
        connection.execute(f"delete from {table}")
    project(connection, _all(connection), config)
    _mark(connection, config)


def _all(connection: apsw.Connection) -> Iterator[StoredEvent]:
    for key, at, kind, subject, text in connection.execute(
        "select id, at, kind, subject, data from event "
        "where kind in (select value from json_each(?)) order by id",
        (json.dumps(PROJECTED),),
    ):
        yield StoredEvent(key, at, Event(kind, subject, parse_data(text)))


def _score(
    connection: apsw.Connection, changed: Mapping[ScoreKey, str], config: ScoringConfig
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


def _record(connection: apsw.Connection, key: ScoreKey) -> Record:
    """An agent's uses and ratings of a memory. A useful rating counts as a use."""
    values = (key.memory, key.agent)
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


def parse_data(text: str) -> dict[str, object]:
    """An event's data. Text that is not a JSON object, as in a foreign file, returns no data."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
