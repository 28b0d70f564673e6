"""Notes with the rows that other programs read. `project` is pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from msgspec import Struct

from djinn_memory.models import Vault
from djinn_memory.store.postgres.projections import note_tables
from djinn_memory.store.postgres.projections.note_tables import LostName
from djinn_memory.store.postgres.projections.tables import NoteRow
from djinn_memory.store.postgres.rows import NoteRows
from djinn_memory.sync.projections.source_memory import SourceFile, SourceMemory
from djinn_memory.sync.projections.table_rows import table_rows

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


class PushedNote(Struct, frozen=True):
    """A note that is written to a server."""

    note_id: UUID
    content: bytes
    """The bytes of its file."""
    rows: NoteRows


def replace(
    tx: Cursor, scope: UUID, rev: int, vault: Vault, notes: Sequence[PushedNote], at: datetime
) -> None:
    """Write the rows of notes instead of those that the server has, in the caller's transaction.

    A name that two notes give, such as the id of a copied note, belongs to one of them; see
    `store.postgres.projections.note_tables`. Of two new notes with one id the older has it, as in
    the local index. The other memory is named by its place.
    """
    note_tables.remove(tx, scope, [note.note_id for note in notes])
    ids = [
        uuid5(scope, memory.uid) for note in notes for memory in note.rows.memories if memory.uid
    ]
    taken = note_tables.taken(tx, scope, ids)
    rows, lost = list[NoteRow](), list[LostName]()
    for note in sorted(notes, key=_age):
        projected = project(scope, vault, note, at, taken)
        uids = [memory.uid for memory in note.rows.memories if memory.uid]
        lost += [LostName("id", uid, note.note_id) for uid in uids if uuid5(scope, uid) in taken]
        taken |= {values[table.key] for table, values in projected if table.key}
        rows += projected
    note_tables.insert(tx, scope, rev, rows, lost)


def _age(note: PushedNote) -> tuple[str, int, str]:
    created = min((memory.created or "z" for memory in note.rows.memories), default="z")
    return created, note.rows.modified_ns, note.rows.path


def project(
    scope: UUID,
    vault: Vault,
    note: PushedNote,
    at: datetime,
    taken: Collection[UUID] = (),
) -> list[NoteRow]:
    """The rows that follow from a note.

    `at` decides which properties of entities hold. Ids in `taken` belong to other notes.
    """
    file = SourceFile(scope, vault, note.rows.path, note.content, at, taken)
    return table_rows(note.note_id, [SourceMemory(file, memory) for memory in note.rows.memories])
