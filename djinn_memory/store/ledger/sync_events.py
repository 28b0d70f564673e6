"""How far the events of this home and of a server were exchanged."""

from __future__ import annotations

from uuid import UUID

from msgspec import Struct

from djinn_memory.store.ledger.ledger import Ledger


class EventCursor(Struct, frozen=True):
    """How far the events of a scope were exchanged."""

    rev: int = 0
    """Events up to this revision of the server are in the ledger."""
    pushed: str = ""
    """Events of this home up to this id are on the server."""


def cursor(ledger: Ledger, scope: UUID) -> EventCursor:
    """How far the events of a scope were exchanged."""
    known = ledger.rows("select rev, pushed from sync_events where scope = ?", (str(scope),))
    return EventCursor(*known[0]) if known else EventCursor()


def move(ledger: Ledger, scope: UUID, after: EventCursor) -> None:
    """Record how far the events of a scope were exchanged."""
    if cursor(ledger, scope) == after:
        return
    values = str(scope), after.rev, after.pushed
    ledger.change(
        [("insert or replace into sync_events (scope, rev, pushed) values (?, ?, ?)", [values])]
    )
