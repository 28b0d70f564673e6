"""The rows that other programs read, from the notes of a vault. `project` is pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from msgspec import Struct

from djinn_memory.models import Vault
from djinn_memory.store.postgres.rows import NoteRows
from djinn_memory.store.postgres.seeds import projections
from djinn_memory.store.postgres.seeds.seed_rows import SeedRow
from djinn_memory.sync.seeds import documents, entities, episodes, facts, patterns, summaries
from djinn_memory.sync.seeds.seed_memory import SeedMemory

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


class PushedNote(Struct, frozen=True):
    """A note that is written to a server."""

    note_id: UUID
    content: bytes
    """The bytes of its file."""
    rows: NoteRows


Reader = Callable[[Sequence[SeedMemory]], Iterable[SeedRow]]

_READERS: tuple[Reader, ...] = (
    episodes.rows, patterns.rows, entities.rows, documents.rows, facts.rows, summaries.rows,
)  # fmt: skip


def replace(
    tx: Cursor, scope: UUID, rev: int, vault: Vault, notes: Sequence[PushedNote], at: datetime
) -> None:
    """Write the rows of notes instead of those that the server has, in the caller's transaction.

    Two notes may contain a memory with the same id. The first that was written keeps it, and the
    other memory is named by its place.
    """
    projections.remove(tx, scope, [note.note_id for note in notes])
    ids = [
        uuid5(scope, memory.uid) for note in notes for memory in note.rows.memories if memory.uid
    ]
    taken = projections.taken(tx, scope, ids)
    projected = []
    for note in notes:
        projected.append((note.note_id, project(scope, vault, note, at, taken)))
        taken |= {uuid5(scope, memory.uid) for memory in note.rows.memories if memory.uid}
    projections.insert(tx, scope, rev, projected)


def project(
    scope: UUID,
    vault: Vault,
    note: PushedNote,
    at: datetime,
    taken: Collection[UUID] = (),
) -> list[SeedRow]:
    """The rows that follow from a note. Those that others refer to come first.

    `at` decides which properties of entities hold. Ids in `taken` belong to other notes.
    """
    memories = [
        SeedMemory(scope, vault, note.rows.path, note.content, memory, at, taken)
        for memory in note.rows.memories
    ]
    return [row for read in _READERS for row in read(memories)]
