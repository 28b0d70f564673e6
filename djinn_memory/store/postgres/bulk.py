"""Loads many rows at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Copy

    from djinn_memory.store.postgres.connection import Cursor


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
    rows = f"select {columns} from {table} limit 0"
    tx.execute(f"create temp table loading on commit drop as {rows}".encode())
    with tx.copy(f"copy pg_temp.loading ({columns}) from stdin {form}".encode()) as copy:
        if types:
            copy.set_types(types)
        yield copy
    tx.execute(f"insert into {table} ({columns}) select {columns} from pg_temp.loading".encode())
    tx.execute("drop table pg_temp.loading")
