"""Writes rows with values as Postgres takes them: texts without NUL, vectors of pgvector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from djinn_memory.store.postgres.bulk import copying

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


def clean(text: str) -> str:
    """A text without NUL, which Postgres does not take. Positions stay."""
    return text.replace("\0", "\ufffd")


def cleaned_json(value: object) -> str:
    """A value as JSON, with clean texts."""
    return msgspec.json.encode(_cleaned(msgspec.to_builtins(value))).decode()


def copy_rows(
    tx: Cursor, table: str, scope: UUID, columns: str, rows: Iterable[Sequence[object]]
) -> None:
    """Write rows of a scope, with clean texts, by COPY."""
    with copying(tx, table, f"user_id, {columns}") as copy:
        for row in rows:
            copy.write_row((scope, *map(plain, row)))


def binary_vector(vector: bytes) -> bytes:
    """A vector of little-endian float32, in the binary form of pgvector.

    That is two numbers of 2 bytes, then float32, all big-endian.
    """
    import numpy as np

    values = np.frombuffer(vector, "<f4")
    return len(values).to_bytes(2) + bytes(2) + values.astype(">f4").tobytes()


def _cleaned(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_cleaned(part) for part in value]
    return clean(value) if isinstance(value, str) else value


def plain(value: object) -> object:
    """A value of a row with clean texts."""
    if isinstance(value, str):
        return clean(value)
    return [clean(text) for text in value] if isinstance(value, list) else value
