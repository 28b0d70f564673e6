"""Tables derived from some events alone, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger import projections
from djinn_memory.store.ledger.changes import StoredEvent

_SCRIPTS = Path(__file__).parent / "schema"


class DerivedTables:
    """The tables that follow from some events."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, with their values by column."""
        cursor = self._connection.execute(f"select * from {table}")
        for row in cursor:
            names = (name for name, *_ in cursor.getdescription())
            yield dict(zip(names, row, strict=True))


@contextmanager
def derived_tables(events: Iterable[StoredEvent], config: ScoringConfig) -> Iterator[DerivedTables]:
    """The tables that follow from these events, by the rules of the ledger."""
    with closing(apsw.Connection(":memory:")) as connection:
        for script in sorted(_SCRIPTS.glob("[0-9]*.sql")):
            connection.execute(script.read_text(encoding="utf-8"))
        unique = {stored.id: stored for stored in events}
        with connection:
            ordered = (unique[key] for key in sorted(unique))
            projections.project(connection, ordered, config)
        yield DerivedTables(connection)
