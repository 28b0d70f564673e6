"""Stores of expiring values for working memory: SQLite and Redis, with one protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta, Struct

from djinn_memory.errors import Unavailable

if TYPE_CHECKING:
    from djinn_memory.home.home import Home

Space = Literal["session", "task", "from", "kept"]
"""The owner of a key. `from` holds values that another agent shared. `kept` holds replaced values
that wait to become a note."""

Tier = Literal["working", "short"]

Time = Annotated[float, Meta(ge=0, le=250_000_000_000)]
"""Seconds since 1970, limited to years that a date can have."""

PROMOTE_USES = 3
"""Number of uses after which a short-term entry becomes a note."""

WAITS = 30 * 86_400.0
"""Seconds that such an entry is kept after its expiry, until a run makes the note."""


class WorkingSlot(Struct, frozen=True):
    """The address of a value."""

    agent: str
    space: Space
    name: str
    """The session, the task, the agent that shared the value, or the entry's id."""
    key: str


class WorkingEntry(WorkingSlot, frozen=True, kw_only=True):
    """A value and its slot. Times are seconds since 1970 by the store's clock."""

    id: str
    value: str
    """JSON."""
    type: str | None = None
    tier: Tier = "working"
    created: Time
    updated: Time
    ttl: int
    expires: Time
    uses: int = 0
    used: Time | None = None
    claim: str | None = None
    """The run that is turning the entry into a note."""
    claimed: Time | None = None
    """When that run claimed it."""

    @property
    def slot(self) -> WorkingSlot:
        """The slot without the value."""
        return WorkingSlot(self.agent, self.space, self.name, self.key)

    @property
    def earned(self) -> bool:
        """Whether the entry was used often enough to become a note."""
        return self.tier == "short" and self.uses >= PROMOTE_USES

    @property
    def kept_until(self) -> float:
        """The time until which the store keeps the entry.

        It is later than the expiry when `earned`.
        """
        return self.expires + WAITS if self.earned else self.expires


class StoreUnwritable(Unavailable):
    """The store can be read but not changed: for example a read-only disk or a replica."""


Decide = Callable[[WorkingEntry | None, float], WorkingEntry | None]
"""Compare-and-swap callback: takes the current entry and the store's clock, returns the new entry.
Must be idempotent, because a store may call it again."""


class WorkingStore(Protocol):
    """Keeps entries until `kept_until`. The caller separates expired entries from readable ones."""

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """Replace a slot's entry with the result of `decide`, atomically; returns old and new."""

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """All entries of an agent, oldest first, and the store's time."""

    def erase(self) -> None:
        """Remove forgotten values from the bytes of the storage."""

    def close(self) -> None:
        """Release the file or the connection."""


class ReadOnlyWorkingStore:
    """A working memory whose values can be read. Uses are not counted."""

    def __init__(self, store: WorkingStore) -> None:
        self._store = store

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """Raises `StoreUnwritable`."""
        raise StoreUnwritable("a read-only process writes nothing")

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`."""
        return self._store.entries(agent)

    def erase(self) -> None:
        """Raises `StoreUnwritable`."""
        raise StoreUnwritable("a read-only process writes nothing")

    def close(self) -> None:
        """See `WorkingStore`."""
        self._store.close()


def forget(old: WorkingEntry) -> Decide:
    """A callback that empties a slot, unless another entry has replaced `old`."""
    return lambda current, _: None if current and current.id == old.id else current


def entry(fields: Mapping[str, Any]) -> WorkingEntry | None:
    """An entry from a store's fields, or None for fields that another program wrote."""
    try:
        return msgspec.convert(fields, WorkingEntry, strict=False)
    except msgspec.ValidationError:
        return None


def open_working(home: Home) -> WorkingStore:
    """The store that the settings name."""
    if home.config.working_memory:
        from djinn_memory.store.expiring.redis import RedisWorkingStore

        return RedisWorkingStore.of(home)
    from djinn_memory.store.expiring.sqlite import SqliteWorkingStore

    return SqliteWorkingStore(home.working_path)
