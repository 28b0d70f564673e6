"""Loads many rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from djinn_memory.store.postgres.values import column_value

if TYPE_CHECKING:
    from psycopg import Copy

    from djinn_memory.store.postgres.connection import Cursor


def write_rows(
    tx: Cursor, scope: UUID, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows of a scope, with clean texts."""
    with copying(tx, table, ", ".join(("user_id", *columns))) as copy:
        for row in rows:
            copy.write_row((scope, *map(column_value, columns, row)))


@contextmanager
def copying(
    tx: Cursor, table: str, columns: str, types: Sequence[str] | None = None
) -> Iterator[Copy]:
    """A COPY into some columns of a table; call `write_row` for each row.

    The rows are sent as text or, with the `types` of the columns, in binary form.
    PostgreSQL refuses COPY into a table whose row-level security holds for the role. The rows then
    go through a temporary table.
    """
    form = "(format binary)" if types else "(format text)"
    tx.execute("select row_security_active(%s)", (table,))
    if tx.fetchone() != (True,):
        with tx.copy(f"copy {table} ({columns}) from stdin {form}".encode()) as copy:
            if types:
                copy.set_types(types)
            yield copy
        return
    # A column that is left out takes its default here.
    like = f"(like {table} including defaults)"
    tx.execute(f"create temp table loading {like} on commit drop".encode())
    with tx.copy(f"copy pg_temp.loading ({columns}) from stdin {form}".encode()) as copy:
        if types:
            copy.set_types(types)
        yield copy
    # A cluster would write the rows by COPY again if nothing were returned.
    tx.execute(
        f"insert into {table} ({columns}) select {columns} from pg_temp.loading "
        "returning true".encode()
    )
    tx.execute("drop table pg_temp.loading")
