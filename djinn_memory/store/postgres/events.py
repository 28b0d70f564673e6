"""Events on a server. They are canonical: homes write them, and the server keeps them in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from djinn_memory.store.ledger.events import Event, StoredEvent
from djinn_memory.store.ledger.projections import parse_data
from djinn_memory.store.ledger.redaction import joined
from djinn_memory.store.postgres.values import cleaned, json_value, uuid_of

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor, ScopeWriter

PAGE = 2_000
"""Number of events that are read or written at once."""

LAST = "8"
"""Ids of events come before it. Those after it are of the year 6429 or later."""


def pending(
    tx: Cursor, scope: UUID, events: Sequence[StoredEvent], *, known_only: bool = False
) -> list[StoredEvent]:
    """The events that the server lacks, or that have texts which were purged here.

    The latter also lack the texts that were purged on the server. With `known_only`, events that
    the server lacks are left out.
    """
    known = _data_of(tx, scope, [stored.id for stored in events])
    result = []
    for key, at, event in filter(is_storable, events):
        data = cleaned(event.data)
        changed = not known_only
        if key in known:
            data = joined(known[key], data)
            changed = data != known[key]
        if changed:
            kind, subject = cleaned(event.kind), cleaned(event.subject)
            result.append(StoredEvent(key, at, Event(kind, subject, data)))
    return result


def expected(stored: StoredEvent, server: StoredEvent) -> StoredEvent:
    """The form that an event of a home should have on the server, given its present form there.

    Texts that were purged there stay purged.
    """
    data = joined(cleaned(stored.event.data), server.event.data)
    event = Event(cleaned(stored.event.kind), cleaned(stored.event.subject), data)
    same_time = _moment(stored.at) == _moment(server.at)
    return StoredEvent(stored.id, server.at if same_time else stored.at, event)


def _moment(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):
        return None


def is_storable(stored: StoredEvent) -> bool:
    """Whether an event has an id and a time as djinn writes them.

    Ids of the far future leave none for later events.
    """
    try:
        return _is_uuid(stored.id) and datetime.fromisoformat(stored.at).tzinfo is not None
    except ValueError:
        return False


def push(writer: ScopeWriter, home: UUID, events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """Write events of a home. Returns those that are new or changed, as the server has them.

    An event that the server has keeps its texts, except those that were purged.
    """
    changed = pending(writer.tx, writer.scope, events)
    write(writer, home, changed)
    return changed


def write(writer: ScopeWriter, home: UUID, changed: Sequence[StoredEvent]) -> None:
    """Write events as they are, in place of those with their ids."""
    tx, scope, rev = writer.tx, writer.scope, writer.rev
    for start in range(0, len(changed), PAGE):
        page = changed[start : start + PAGE]
        tx.executemany(
            "insert into events (user_id, id, rev, at, kind, subject, data, home_id) "
            "values (%s, %s, %s, %s, %s, %s, %s, %s) "
            "on conflict (user_id, id) do update set at = excluded.at, kind = excluded.kind, "
            "subject = excluded.subject, data = excluded.data, rev = excluded.rev",
            [
                (
                    scope, stored.id, rev, stored.at, stored.event.kind,
                    stored.event.subject, json_value(stored.event.data), home,
                )
                for stored in page
            ],
        )  # fmt: skip


def since(tx: Cursor, scope: UUID, rev: int) -> Iterator[list[StoredEvent]]:
    """The events that were written or changed after a revision, a page at a time."""
    after = rev, UUID(int=2**128 - 1)
    while True:
        rows = tx.execute(
            _select("(rev, id) > (%s, %s) order by rev, id limit %s"), (scope, *after, PAGE)
        ).fetchall()
        if not rows:
            return
        yield [_stored(*row[1:]) for row in rows]
        after = rows[-1][0], rows[-1][1]


def of_subjects(
    tx: Cursor, scope: UUID, kinds: Sequence[str], subjects: Sequence[str]
) -> list[StoredEvent]:
    """The events of some kinds about some subjects."""
    sql = _select("kind = any(%s) and subject = any(%s)")
    rows = tx.execute(sql, (scope, [*kinds], [*subjects]))
    return [_stored(*row) for _, *row in rows]


def of_kinds(tx: Cursor, scope: UUID, kinds: Sequence[str], rev: int = -1) -> list[StoredEvent]:
    """The events of some kinds that were written or changed after a revision, oldest first."""
    sql = _select("kind = any(%s) and rev > %s order by rev, id")
    rows = tx.execute(sql, (scope, [*kinds], rev))
    return [_stored(*row) for _, *row in rows]


def last_sent(tx: Cursor, scope: UUID, kind: str) -> tuple[UUID, str] | None:
    """The home that sent the last event of a kind, and the latest local date that it may have.

    None if there is no such event.
    """
    # No time zone is further ahead.
    return tx.execute(
        "select home_id, to_char(at at time zone 'UTC' + interval '14 hours', 'YYYY-MM-DD') "
        "from events "
        "where user_id = %s and kind = %s order by id desc limit 1",
        (scope, kind),
    ).fetchone()


def by_ids(tx: Cursor, scope: UUID, ids: Sequence[str]) -> list[StoredEvent]:
    """The events with these ids."""
    rows = tx.execute(_select("id = any(%s::uuid[])"), (scope, [*ids]))
    return [_stored(*row) for _, *row in rows]


def _select(where: str) -> bytes:
    """A query of the revisions and events of a scope."""
    # The driver cannot read infinite times, nor data that is nested deeply.
    time = "to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    return (
        f"select rev, id, {time}, kind, subject, data::text from events "
        f"where user_id = %s and {where}"
    ).encode()


def _data_of(tx: Cursor, scope: UUID, ids: Sequence[str]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for start in range(0, len(ids), PAGE):
        rows = tx.execute(
            "select id, data::text from events where user_id = %s and id = any(%s::uuid[])",
            (scope, [key for key in ids[start : start + PAGE] if _is_uuid(key)]),
        )
        known |= {str(key): parse_data(data) for key, data in rows}
    return known


def _is_uuid(text: str) -> bool:
    return str(uuid_of(text)) == text and text < LAST


def _stored(key: UUID, at: str | None, kind: str, subject: str, data: str) -> StoredEvent:
    return StoredEvent(str(key), at or "", Event(kind, subject, parse_data(data)))
