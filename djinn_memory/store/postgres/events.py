"""Events on a server. They are canonical: homes write them, and the server keeps them in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from msgspec import Struct

from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.events import Event
from djinn_memory.store.ledger.redaction import joined
from djinn_memory.store.postgres.values import cleaned, json_value

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor, ScopeWriter

PAGE = 2_000
"""Number of events that are read or written at once."""


def pending(
    tx: Cursor, scope: UUID, events: Sequence[StoredEvent], *, known_only: bool = False
) -> list[StoredEvent]:
    """Those of these events that the server lacks, or that have texts which were purged here.

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


def is_storable(stored: StoredEvent) -> bool:
    """Whether an event has an id and a time as djinn writes them."""
    try:
        UUID(stored.id)
        return datetime.fromisoformat(stored.at).tzinfo is not None
    except ValueError:
        return False


def push(writer: ScopeWriter, home: UUID, events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """Write events of a home. Returns those that are new or changed, as the server has them.

    An event that the server has keeps its texts, except those that were purged.
    """
    tx, scope, rev = writer.tx, writer.scope, writer.rev
    changed = pending(tx, scope, events)
    for start in range(0, len(changed), PAGE):
        page = changed[start : start + PAGE]
        tx.executemany(
            "insert into events (user_id, id, rev, at, kind, subject, data, home_id) "
            "values (%s, %s, %s, %s, %s, %s, %s, %s) "
            "on conflict (user_id, id) do update set data = excluded.data, rev = excluded.rev",
            [
                (
                    scope, stored.id, rev, stored.at, stored.event.kind,
                    stored.event.subject, json_value(stored.event.data), home,
                )
                for stored in page
            ],
        )  # fmt: skip
    return changed


def since(tx: Cursor, scope: UUID, rev: int, limit: int = PAGE) -> Iterator[list[StoredEvent]]:
    """The events that were written or changed after a revision, a page at a time."""
    after = rev, UUID(int=2**128 - 1)
    while True:
        rows = tx.execute(
            "select rev, id, at, kind, subject, data from events "
            "where user_id = %s and (rev, id) > (%s, %s) order by rev, id limit %s",
            (scope, *after, limit),
        ).fetchall()
        if not rows:
            return
        yield [_stored(*row[1:]) for row in rows]
        after = rows[-1][0], rows[-1][1]


def of_subjects(
    tx: Cursor, scope: UUID, kinds: Sequence[str], subjects: Sequence[str]
) -> list[StoredEvent]:
    """The events of some kinds about some subjects."""
    rows = tx.execute(
        "select id, at, kind, subject, data from events "
        "where user_id = %s and kind = any(%s) and subject = any(%s)",
        (scope, [*kinds], [*subjects]),
    )
    return [_stored(*row) for row in rows]


def by_ids(tx: Cursor, scope: UUID, ids: Sequence[str]) -> list[StoredEvent]:
    """The events with these ids."""
    rows = tx.execute(
        "select id, at, kind, subject, data from events "
        "where user_id = %s and id = any(%s::uuid[])",
        (scope, [*ids]),
    )
    return [_stored(*row) for row in rows]


def _data_of(tx: Cursor, scope: UUID, ids: Sequence[str]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for start in range(0, len(ids), PAGE):
        rows = tx.execute(
            "select id, data from events where user_id = %s and id = any(%s::uuid[])",
            (scope, [key for key in ids[start : start + PAGE] if _is_uuid(key)]),
        )
        known |= {str(key): data for key, data in rows}
    return known


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _stored(key: UUID, at: datetime, kind: str, subject: str, data: Any) -> StoredEvent:
    text = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return StoredEvent(str(key), text, Event(kind, subject, data if isinstance(data, dict) else {}))


class ScopeRevision(Struct, frozen=True):
    """A revision of a scope."""

    rev: int
    mark: UUID | None
    """Its random mark; None for the beginning."""


def newest(tx: Cursor, scope: UUID) -> ScopeRevision:
    """The newest revision of a scope."""
    row = tx.execute(
        "select scopes.rev, mark from scopes left join revisions "
        "on revisions.user_id = scopes.user_id and revisions.rev = scopes.rev "
        "where scopes.user_id = %s",
        (scope,),
    ).fetchone()
    return ScopeRevision(*row) if row else ScopeRevision(0, None)


def has_mark(tx: Cursor, scope: UUID, rev: int, mark: UUID | None) -> bool:
    """Whether a scope has a revision with this mark. The beginning is always there."""
    if rev == 0:
        return True
    row = tx.execute(
        "select mark from revisions where user_id = %s and rev = %s", (scope, rev)
    ).fetchone()
    return row is not None and row[0] == mark
