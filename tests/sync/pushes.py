"""Pushes the vault of a home to a server's scope as a sync does, for tests of what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.models import Vault
from djinn_memory.store.export import export_notes
from djinn_memory.store.postgres.connection import ServerAddress, connect, writing
from djinn_memory.store.postgres.migrations import VectorModel
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.source_memory import PushedNote
from tests.postgres import DatabaseServer

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Connection

HASHING = VectorModel(HashingEmbedder.identity, HashingEmbedder.dimensions, 1.0, 0.0)
"""The model of the homes in tests."""

NOW = datetime(2026, 11, 23, tzinfo=UTC)


class TableServer:
    """A database with djinn's tables, and a connection to it."""

    def __init__(self, address: ServerAddress, connection: Connection) -> None:
        self.address = address
        self.connection = connection

    def join(self, vault: Vault) -> UUID:
        """Make a scope for a vault."""
        self.connection.execute(
            "insert into scopes (user_id, name) values (%s, %s) on conflict do nothing",
            (vault.id, vault.name),
        )
        return UUID(vault.id)

    def push(self, djinn: Djinn, vault: Vault, paths: Sequence[str] | None = None) -> int:
        """Write notes of a vault with the rows that follow. Returns the revision."""
        scope = self.join(vault)
        notes = [
            PushedNote(note_id(vault, rows.path), (vault.root / rows.path).read_bytes(), rows)
            for rows in export_notes(djinn.runtime.state, vault, paths)
        ]
        with writing(self.connection, self.address, scope) as writer:
            for note in notes:
                writer.tx.execute(
                    "insert into notes (user_id, note_id, path, path_key, content, hash, size, "
                    "rev, home_id) values (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
                    "on conflict (user_id, note_id) do update set content = excluded.content",
                    (
                        scope, note.note_id, note.rows.path, note.rows.path, note.content,
                        note.rows.hash, len(note.content), writer.rev, scope,
                    ),
                )  # fmt: skip
            derived.replace_rows(writer.tx, scope, writer.rev, vault, notes, NOW)
            return writer.rev

    def rows(self, table: str, order: str = "1, 2") -> list[dict[str, Any]]:
        """The rows of a table, without the columns that differ at each run."""
        cursor = self.connection.execute(f"select * from {table} order by {order}".encode())
        names = [column.name for column in cursor.description or ()]
        return [
            {
                name: value
                for name, value in zip(names, row, strict=True)
                if name not in ("user_id", "note_id", "rev")
            }
            for row in cursor
        ]

    def value(self, sql: str, *values: object) -> Any:
        """The only value that a query returns."""
        row = self.connection.execute(sql.encode(), values).fetchone()
        return row[0] if row else None


def note_id(vault: Vault, path: str) -> UUID:
    """The id that a note has in tests."""
    return uuid5(NAMESPACE_URL, f"{vault.id}/{path}")


@contextmanager
def serving(postgres: DatabaseServer) -> Iterator[TableServer]:
    """An empty database for vectors of the homes in tests."""
    with postgres.migrated(HASHING) as address, closing(connect(address)) as connection:
        yield TableServer(address, connection)


@pytest.fixture
def tables(postgres: DatabaseServer) -> Iterator[TableServer]:
    """An empty database for vectors of the homes in tests."""
    with serving(postgres) as server:
        yield server
