"""Keeps the tables that follow from the events: as they are appended, or all of them anew."""

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
"""Of the rules in `changes` and here: raised with them, the tables are made anew."""

TABLES = (
    "memory_retrieval_log", "memory_valuations", "memory_uses", "memory_hashes", "memory_gaps",
    "memory_scores", "tool_calls",
)  # fmt: skip


def project(
    connection: apsw.Connection, happened: Iterable[StoredEvent], config: ScoringConfig
) -> None:
    """Change the tables as these events want it; in the transaction that writes the events."""
    moved: dict[ScoreKey, str] = {}
    for one in happened:
        found = effect(one)
        for sql, values in found.changes:
            connection.execute(sql, values)
        if found.pair:
            moved[found.pair] = one.at
    _score(connection, moved, config)


def current(connection: apsw.Connection, config: ScoringConfig) -> bool:
    """Whether the tables were made by these rules and with these settings."""
    found = rows(connection, "select version, scoring from projected")
    return found == [(VERSION, _settings(config))]


def renew(connection: apsw.Connection, config: ScoringConfig) -> None:
    """Make the tables anew where other rules made them, the scores where other settings did."""
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
    """Make all the tables anew from the events; in a transaction of the caller's."""
    for table in TABLES:
        connection.execute(f"delete from {table}")
    project(connection, _all(connection), config)
    _mark(connection, config)


def _all(connection: apsw.Connection) -> Iterator[StoredEvent]:
    sql = "select id, at, kind, subject, data from event where kind in (select value from "
    found = connection.execute(f"{sql} json_each(?)) order by id", (json.dumps(PROJECTED),))
    for key, at, kind, subject, text in found:
        yield StoredEvent(key, at, Event(kind, subject, parsed(text)))


def _score(
    connection: apsw.Connection, moved: Mapping[ScoreKey, str], config: ScoringConfig
) -> None:
    for pair, at in moved.items():
        one = _record(connection, pair)
        rate = one.useful / one.valuations if one.valuations else None
        connection.execute(
            "insert or replace into memory_scores (agent_id, memory_id, access_count, "
            "valuation_count, useful_count, not_useful_count, usefulness_rate, adaptive_score, "
            "last_used, last_valued, updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *pair, one.uses, one.valuations, one.useful, one.not_useful, rate,
                score(one, config, at).adaptive, one.last_used, one.last_valued, at,
            ),
        )  # fmt: skip


def _record(connection: apsw.Connection, pair: ScoreKey) -> Record:
    """What the events say of a memory, a useful rating being a use."""
    values = (pair.memory, pair.agent)
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


def parsed(text: str) -> dict[str, object]:
    """An event's data; nothing where somebody else's file says what is no object."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
