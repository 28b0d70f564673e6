"""Takes in events of other homes, and texts that were purged there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from djinn_memory.store.ledger.changes import PROJECTED, StoredEvent
from djinn_memory.store.ledger.redaction import joined
from djinn_memory.store.sqlite import rows


def write(
    connection: apsw.Connection, events: Iterable[StoredEvent]
) -> tuple[list[StoredEvent], bool]:
    """Write events that are not here yet, inside the caller's transaction.

    Of an event that is here, a text stays purged that was purged in either copy. Returns the new
    events in order, and whether all tables must be rebuilt, because an event was inserted between
    others or has changed.
    """
    last: str = connection.execute("select max(id) from event").get or ""
    new: dict[str, StoredEvent] = {}
    rebuild = False
    for stored in events:
        event = stored.event
        known = rows(connection, "select data from event where id = ?", (stored.id,))
        if not known:
            connection.execute(
                "insert into event (id, at, kind, subject, data) values (?, ?, ?, ?, ?)",
                (stored.id, stored.at, event.kind, event.subject, json.dumps(event.data)),
            )
            new[stored.id] = stored
            rebuild |= stored.id < last and event.kind in PROJECTED
            continue
        mine = _data(known[0][0])
        merged = joined(mine, event.data)
        if merged != mine:
            connection.execute(
                "update event set data = ? where id = ?", (json.dumps(merged), stored.id)
            )
            rebuild |= event.kind in PROJECTED
    return [new[key] for key in sorted(new)], rebuild


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}
