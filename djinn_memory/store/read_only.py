"""Stores for a read-only process. They answer queries and record only audit events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from djinn_memory.errors import Unavailable
from djinn_memory.store.expiring import (
    Decide,
    StoreUnwritable,
    WorkingEntry,
    WorkingSlot,
    WorkingStore,
)
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.ledger.events import StoredEvent
from djinn_memory.store.ledger.ledger import Statement

AUDIT = "tool.called"
"""The only kind of event that a read-only process writes."""

_WHY = "a read-only process writes nothing"


class ReadOnlyLedger(Ledger):
    """A ledger that accepts only audit events."""

    def append(self, events: Iterable[Event], *, durable: bool = True) -> None:
        """As `Ledger.append`; `Unavailable` for any event but an audit."""
        events = list(events)
        if any(event.kind != AUDIT for event in events):
            raise Unavailable(_WHY)
        super().append(events, durable=durable)

    def change(self, statements: Iterable[Statement]) -> None:
        """Raises `Unavailable`."""
        raise Unavailable(_WHY)

    def take_in(self, events: Sequence[StoredEvent]) -> int:
        """Raises `Unavailable`."""
        raise Unavailable(_WHY)


class ReadOnlyWorkingStore:
    """A working memory whose values can be read. Uses are not counted."""

    def __init__(self, store: WorkingStore) -> None:
        self._store = store

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """Raises `StoreUnwritable`."""
        raise StoreUnwritable(_WHY)

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`."""
        return self._store.entries(agent)

    def erase(self) -> None:
        """Raises `StoreUnwritable`."""
        raise StoreUnwritable(_WHY)

    def close(self) -> None:
        """See `WorkingStore`."""
        self._store.close()
