"""Working memory: values that expire, in SQLite or in Redis, which keep the same protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta, Struct

from djinn_memory.errors import Unavailable

if TYPE_CHECKING:
    from djinn_memory.home.home import Home

Space = Literal["session", "task", "from", "kept"]
"""What a key belongs to: `from` for what another agent handed over, `kept` for what waits to become
a note while its key has another value already."""

Tier = Literal["working", "short"]

Time = Annotated[float, Meta(ge=0, le=250_000_000_000)]
"""Seconds since 1970, up to the years that a date can have."""

PROMOTE_USES = 3
"""A short-term entry that was used so often becomes a note."""

WAITS = 30 * 86_400.0
"""Seconds beyond its expiry that such an entry waits for the run that makes it one."""


class WorkingSlot(Struct, frozen=True):
    """Where a value lies."""

    agent: str
    space: Space
    name: str
    """Of the session or task, of the agent who handed it over, or the entry's id."""
    key: str


class WorkingEntry(WorkingSlot, frozen=True, kw_only=True):
    """A value in its slot. Times are seconds since 1970 by the store's clock."""

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
    """Who makes a note of it."""
    claimed: Time | None = None
    """Since when."""

    @property
    def slot(self) -> WorkingSlot:
        """Where it lies."""
        return WorkingSlot(self.agent, self.space, self.name, self.key)

    @property
    def earned(self) -> bool:
        """Whether it was used so often that it becomes a note."""
        return self.tier == "short" and self.uses >= PROMOTE_USES

    @property
    def kept(self) -> float:
        """Until when the store keeps it, which is longer than it can be read when it `earned`."""
        return self.expires + WAITS if self.earned else self.expires


class StoreUnwritable(Unavailable):
    """The store answers, and cannot be changed: a disk that is full or read-only, a replica."""


Decide = Callable[[WorkingEntry | None, float], WorkingEntry | None]
"""From what lies in a slot, and the store's time, to what shall lie there. May be asked twice."""


class WorkingStore(Protocol):
    """Keeps entries until `kept`; what has expired and is kept longer is for the caller to tell."""

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """Put what `decide` says into a slot, with nobody between; what was there, and is now."""

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """All that an agent has, in the order it was made, and the store's time."""

    def erase(self) -> None:
        """Leave nothing of what was forgotten in the bytes of what it is kept in."""

    def close(self) -> None:
        """Release what it is kept in."""


def forget(gone: WorkingEntry) -> Decide:
    """Empties a slot of just this entry: what has replaced it meanwhile stays."""
    return lambda there, _: None if there and there.id == gone.id else there


def entry(fields: Mapping[str, Any]) -> WorkingEntry | None:
    """An entry as a store returns it; None where somebody else wrote what is none."""
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
