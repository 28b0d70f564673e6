"""Takes in events of other homes, and texts that were purged there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger import projections
from djinn_memory.store.ledger.events import PROJECTED, StoredEvent
from djinn_memory.store.ledger.projections import GAPS, USES, AffectedKeys, affected, derived_tables
from djinn_memory.store.ledger.redaction import joined
from djinn_memory.store.sqlite import rows

LARGE_SHARE = 0.25
"""The share of all events from which it takes less time to derive all tables again."""


class TakenIn(Struct, frozen=True):
    """What changed when events were taken in."""

    new: list[StoredEvent]
    """The events that were not here, in order."""
    changed: list[StoredEvent]
    """The events of which texts were purged, or memories were added."""
    ordered: bool
    """Whether the new events follow all others."""


def write(connection: apsw.Connection, events: Iterable[StoredEvent]) -> TakenIn:
    """Write events that are not here yet, inside the caller's transaction.

    Of an event that is here, a text stays purged that was purged in either copy.
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
        mine = _data(known[0][0])
        merged = joined(mine, event.data)
        if merged != mine:
            connection.execute(
                "update event set data = ? where id = ?", (json.dumps(merged), stored.id)
            )
            changed.append(stored._replace(event=replace(event, data=merged)))
    ordered = [new[key] for key in sorted(new)]
    return TakenIn(ordered, changed, not ordered or ordered[0].id > last)


def project(connection: apsw.Connection, taken: TakenIn, config: ScoringConfig) -> None:
    """Update the tables after events were written, so that they are as after a rebuild."""
    if taken.ordered and not taken.changed:
        projections.project(connection, taken.new, config)
        return
    events = [stored for stored in (*taken.new, *taken.changed) if stored.event.kind in PROJECTED]
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
    for table in _KEYED:
        _delete(connection, table, keys)
    with derived_tables(related, config) as tables:
        for table, column in _KEYED.items():
            _write(connection, table, [r for r in tables.rows(table) if keys.include(column, r)])
        _write(connection, "memory_hashes", [*tables.rows("memory_hashes")])


_KEYED = {
    "memory_retrieval_log": "memory_id",
    "memory_valuations": "memory_id",
    "memory_uses": "memory_id",
    "memory_gaps": "id",
    "memory_scores": "memory_id",
}
"""The tables whose rows are about memories and gaps, and the column that names these."""


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
    if _KEYED[table] == "id":
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


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}
