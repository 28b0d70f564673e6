"""Writes the vaults of a home to a server and opens its index, for tests of search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.models import Vault
from djinn_memory.store.export import export_notes
from djinn_memory.store.postgres.connection import reading, writing
from djinn_memory.store.postgres.index import postgres_vectors, writer
from djinn_memory.store.postgres.index.postgres_index import PostgresIndex
from djinn_memory.store.postgres.index.scopes import Scopes
from tests.sync.pushes import TableServer, note_id


def push(
    tables: TableServer, djinn: Djinn, vault: Vault, paths: Sequence[str] | None = None
) -> int:
    """Write notes of a vault with their index. Returns the number of notes."""
    scope = tables.join(vault)
    notes = [
        (note_id(vault, rows.path), rows)
        for rows in export_notes(djinn.runtime.state, vault, paths)
    ]
    with writing(tables.connection, tables.address, scope) as transaction:
        for key, rows in notes:
            transaction.tx.execute(
                "insert into notes (user_id, note_id, path, path_key, content, hash, size, rev, "
                "home_id) values (%s, %s, %s, %s, '', %s, 0, %s, %s) on conflict do nothing",
                (scope, key, rows.path, rows.path, rows.hash, transaction.rev, scope),
            )
        writer.replace(transaction.tx, scope, transaction.rev, notes)
        if postgres_vectors.needs_vector_index(transaction.tx, scope):
            postgres_vectors.index_vectors(transaction.tx, scope)
    return len(notes)


def remove(tables: TableServer, vault: Vault, paths: Sequence[str]) -> None:
    """Remove notes of a vault from the server's index."""
    with writing(tables.connection, tables.address, UUID(vault.id)) as transaction:
        writer.remove(transaction.tx, transaction.scope, [note_id(vault, path) for path in paths])


@contextmanager
def opened(tables: TableServer, home: Home, vaults: Sequence[Vault]) -> Iterator[PostgresIndex]:
    """The server's index of some vaults."""
    with reading(tables.connection, tables.address) as tx:
        yield PostgresIndex(Scopes(tx, vaults, home.config.access), home.vaults)
