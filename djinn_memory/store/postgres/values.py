"""Values and rows in the forms that Postgres accepts, and the writers of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from djinn_memory.models import Vectors

if TYPE_CHECKING:
    from psycopg import Copy

    from djinn_memory.store.postgres.connection import Cursor


Row: TypeAlias = Mapping[str, Any]
"""The values of a row by column, without `user_id` and `rev`. All rows of a table have the same."""

_JSON = frozenset({
    "context_snapshot", "extracted_entities", "extracted_intents", "action_context", "properties",
    "metadata", "history", "headings", "parts", "fields", "candidates",
})  # fmt: skip
"""The columns of type `jsonb` in tables whose rows follow from notes."""


def _column_value(column: str, value: Any) -> Any:
    """A value in the form in which a COPY takes it for a column."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, int | float | bytes | UUID | datetime):
        return value
    if column in _JSON:
        return json_value(value)
    return [*map(cleaned, value)] if isinstance(value, list) else vector_text(value)


def json_value(value: Any) -> Any:
    """A value for a column of type `jsonb`."""
    from psycopg.types.json import Jsonb

    return Jsonb(cleaned(value))


def vector_text(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map('%.9g'.__mod__, vector.tolist()))}]"


def uuid_of(text: str) -> UUID | None:
    """The UUID in a text; None for other text, such as the id of a vault that is on no server."""
    try:
        return UUID(text)
    except ValueError:
        return None


def clean(text: str) -> str:
    """A text that Postgres can keep: without NULs and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cleaned(value: Any) -> Any:
    """A JSON value that Postgres can keep. A number that is none becomes null."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [*map(cleaned, value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_rows(
    tx: Cursor, scope: UUID, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows of a scope, with clean texts."""
    with copying(tx, table, ", ".join(("user_id", *columns))) as copy:
        for row in rows:
            copy.write_row((scope, *map(_column_value, columns, row)))


def insert_rows(tx: Cursor, scope: UUID, rev: int, table: str, rows: Sequence[Row]) -> None:
    """Write rows of a scope, given by column, under a revision."""
    if rows:
        columns = [*rows[0]]
        listed = ((*(row[column] for column in columns), rev) for row in rows)
        write_rows(tx, scope, table, [*columns, "rev"], listed)


def replace_rows(tx: Cursor, scope: UUID, rev: int, table: str, rows: Sequence[Row]) -> None:
    """Write the rows of a table instead of all that the scope has in it."""
    tx.execute(f"delete from {table} where user_id = %s".encode(), (scope,))
    insert_rows(tx, scope, rev, table, rows)


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
