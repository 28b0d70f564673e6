"""Finds the rows of a server that no home can have written. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.sync.notes.names import is_note, why_not


def unfit(rows: Iterable[ServerNote]) -> dict[UUID, tuple[ServerNote, str]]:
    """The rows that are left out, by note, each with the reason.

    A tombstone has no file, so its path does not matter.
    """
    seen: set[UUID] = set()
    result: dict[UUID, tuple[ServerNote, str]] = {}
    for row in rows:
        why = _why_unfit(row)
        if row.note_id in seen:
            why = "has the id of another file"
        seen.add(row.note_id)
        if why:
            result[row.note_id] = row, why
    return result


def _why_unfit(row: ServerNote) -> str | None:
    if row.rev < 1:
        return "has no revision"
    if row.deleted:
        return None
    if is_note(row.path) and row.table != "notes":
        return "is a note among the attachments"
    if row.table == "notes" and not is_note(row.path):
        return "is no note"
    if is_note(row.path) and row.size > MAX_BYTES:
        return f"is too large for a note with {row.size:,} bytes"
    return why_not(row.path)
