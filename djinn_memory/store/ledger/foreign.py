"""Takes in events of other homes, and texts that were purged there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
from msgspec.structs import replace

from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger import projections
from djinn_memory.store.ledger.events import PROJECTED, StoredEvent
from djinn_memory.store.ledger.projections import (
    GAPS,
    KEYED_TABLES,
    USES,
    AffectedKeys,
    affected,
    derived_tables,
)
from djinn_memory.store.ledger.redaction import joined
from djinn_memory.store.sqlite import rows

LARGE_SHARE = 0.25
"""The share of all events from which it takes less time to derive all tables again."""


def take_in(
    connection: apsw.Connection, events: Iterable[StoredEvent], config: ScoringConfig
) -> int:
    """Write events that are not here yet, inside the caller's transaction. Returns how many.

    Of an event that is here, a text stays purged that was purged in either copy. The tables are
    then as after a rebuild.
    """
    last: str = connection.execute("select max(id) from event").get or ""
    new: dict[str, StoredEvent] = {}
    changed: list[StoredEvent] = []
    for stored in events:
        event = stored.event
        known = rows(connection, "select data from event where id = ?", (stored.id,))
        if not known:
            connection.execute(
                "insert into event (id, at, kind, subject, data) values (?, ?, ?, ?, ?)",
                (stored.id, stored.at, event.kind, event.subject, json.dumps(event.data)),
            )
            new[stored.id] = stored
            continue
        mine = projections.parse_data(known[0][0])
        merged = joined(mine, event.data)
        if merged != mine:
            connection.execute(
                "update event set data = ? where id = ?", (json.dumps(merged), stored.id)
            )
            changed.append(stored._replace(event=replace(event, data=merged)))
    ordered = [new[key] for key in sorted(new)]
    if changed or (ordered and ordered[0].id <= last):
        _project(connection, [*ordered, *changed], config)
    else:
        projections.project(connection, ordered, config)
    return len(new)


def _project(
    connection: apsw.Connection, events: Iterable[StoredEvent], config: ScoringConfig
) -> None:
    """Update the tables after events were written before others, or changed."""
    events = [stored for stored in events if stored.event.kind in PROJECTED]
    if not events:
        return
    # No more events are counted than it takes to decide.
    most = int(len(events) / LARGE_SHARE)
    counted = "select count(*) from (select 1 from event limit ?)"
    if connection.execute(counted, (most,)).get < most:
        projections.rebuild(connection, config)
        return
    keys = affected(events)
    # The tables tell which recalls have shown a memory.
    related = [*_related(connection, keys), *events]
    for table in KEYED_TABLES:
        _delete(connection, table, keys)
    with derived_tables(related, config) as rows_of:
        for table, column in KEYED_TABLES.items():
            _write(connection, table, [r for r in rows_of(table) if keys.include(column, r)])
        _write(connection, "memory_hashes", [*rows_of("memory_hashes")])


def _related(connection: apsw.Connection, keys: AffectedKeys) -> Iterator[StoredEvent]:
    """All events about the same memories and gaps."""
    memories = [*{memory for _, memory in keys.memories}]
    for kinds, subjects in ((GAPS, [*keys.gaps]), (USES, memories)):
        yield from _events(
            connection,
            "kind in (select value from json_each(?)) "
            "and subject in (select value from json_each(?))",
            (json.dumps(kinds), json.dumps(subjects)),
        )
    yield from _events(
        connection,
        "id in (select distinct substr(id, 1, 36) from memory_retrieval_log "
        "where memory_id in (select value from json_each(?)))",
        (json.dumps(memories),),
    )


def _write(connection: apsw.Connection, table: str, listed: Sequence[dict[str, Any]]) -> None:
    if listed:
        columns, marks = ", ".join(listed[0]), ", ".join(f":{name}" for name in listed[0])
        sql = f"insert or replace into {table} ({columns}) values ({marks})"
        connection.executemany(sql, listed)


def _events(
    connection: apsw.Connection, where: str, values: tuple[str, ...]
) -> Iterator[StoredEvent]:
    sql = f"select id, at, kind, subject, data from event where {where}"
    return projections.parse_events(rows(connection, sql, values))


def _delete(connection: apsw.Connection, table: str, keys: AffectedKeys) -> None:
    if KEYED_TABLES[table] == "id":
        connection.executemany(f"delete from {table} where id = ?", [(key,) for key in keys.gaps])
        return
    connection.executemany(
        f"delete from {table} where agent_id = ? and memory_id = ?", [*keys.memories]
    )
    if table == "memory_retrieval_log":
        connection.executemany(
            f"delete from {table} where request_id = ? and memory_id = ''",
            [(request,) for request in keys.requests],
        )
