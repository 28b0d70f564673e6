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
from djinn_memory.store.postgres.seeds.projections import LostName
from djinn_memory.store.postgres.seeds.seed_rows import KEYS, SeedRow
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

    A name that two notes give, such as the id of a copied note, belongs to one of them; see
    `store.postgres.seeds.projections`. Of two new notes with one id the older has it, as in the
    local index. The other memory is named by its place.
    """
    projections.remove(tx, scope, [note.note_id for note in notes])
    ids = [
        uuid5(scope, memory.uid) for note in notes for memory in note.rows.memories if memory.uid
    ]
    taken = projections.taken(tx, scope, ids)
    projected, lost = [], list[LostName]()
    for note in sorted(notes, key=_age):
        rows = project(scope, vault, note, at, taken)
        uids = [memory.uid for memory in note.rows.memories if memory.uid]
        lost += [LostName("id", uid, note.note_id) for uid in uids if uuid5(scope, uid) in taken]
        taken |= {getattr(row, KEYS[type(row)]) for row in rows if type(row) in KEYS}
        projected.append((note.note_id, rows))
    projections.insert(tx, scope, rev, projected, lost)


def _age(note: PushedNote) -> tuple[str, int, str]:
    created = min((memory.created or "z" for memory in note.rows.memories), default="z")
    return created, note.rows.modified_ns, note.rows.path


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
