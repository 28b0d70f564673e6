"""The ledger: events in chronological order, and the tables derived from them.

`ledger` appends `events`, which define their effect on the tables. `projections` keeps the tables
up to date, and `reading` queries them.
"""

from djinn_memory.store.ledger.events import EPISODE_PURGED, MEMORY_MOVED, TOOL_CALLED, Event, uuid7
from djinn_memory.store.ledger.ledger import SCHEMA, Ledger, ledger_lock

__all__ = [
    "EPISODE_PURGED", "MEMORY_MOVED", "SCHEMA", "TOOL_CALLED", "Event", "Ledger", "ledger_lock",
    "uuid7",
]  # fmt: skip
