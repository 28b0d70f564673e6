"""What happened, in the order it happened, and what follows from it.

`events` are appended by `ledger`; `changes` says what each does to the tables, which `projections`
keeps and `reading` reads.
"""

from djinn_memory.store.ledger.events import Event, uuid7
from djinn_memory.store.ledger.ledger import SCHEMA, Ledger, held

__all__ = ["SCHEMA", "Event", "Ledger", "held", "uuid7"]
