"""The stores of a process that was told to write nothing: they answer, and keep no trace."""

from __future__ import annotations

from collections.abc import Iterable

from djinn_memory.errors import Unavailable
from djinn_memory.store.expiring import (
    Decide,
    StoreUnwritable,
    WorkingEntry,
    WorkingSlot,
    WorkingStore,
)
from djinn_memory.store.ledger import Event, Ledger

AUDIT = "tool.called"
"""The only event that is written all the same."""

_WHY = "nothing is written by who only reads"


class ReadOnlyLedger(Ledger):
    """The ledger, in which nothing is noted but what was asked."""

    def append(self, events: Iterable[Event], *, durable: bool = True) -> None:
        """As `Ledger.append`; `Unavailable` for all but the audit."""
        listed = list(events)
        if any(one.kind != AUDIT for one in listed):
            raise Unavailable(_WHY)
        super().append(listed, durable=durable)


class ReadOnlyWorkingStore:
    """A working memory whose values are read, and no use of them counted."""

    def __init__(self, store: WorkingStore) -> None:
        self._store = store

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """Always `StoreUnwritable`."""
        raise StoreUnwritable(_WHY)

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`."""
        return self._store.entries(agent)

    def erase(self) -> None:
        """Always `StoreUnwritable`."""
        raise StoreUnwritable(_WHY)

    def close(self) -> None:
        """See `WorkingStore`."""
        self._store.close()
