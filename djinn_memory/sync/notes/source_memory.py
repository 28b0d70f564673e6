"""A memory of a note, as the tables that other programs read need it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from uuid import UUID, uuid5

from msgspec import Struct

from djinn_memory.models import Vault, Vectors
from djinn_memory.notes import journal
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.journal import JournalRecord
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.slugs import fold
from djinn_memory.scoring import share_of
from djinn_memory.store.postgres.rows import ChunkRows, MemoryRows, NoteRows

_LARGEST = 2**31
"""Numbers of columns of type `int` are below it."""


class PushedNote(Struct, frozen=True):
    """A note that is written to a server."""

    note_id: UUID
    content: bytes
    """The bytes of its file."""
    rows: NoteRows


class SourceFile(Struct, frozen=True, dict=True):
    """The file of a note from which rows follow."""

    scope: UUID
    vault: Vault
    path: str
    content: bytes
    at: datetime
    """The time that decides which properties of entities hold."""
    taken: Collection[UUID]
    """The ids that belong to other notes."""

    @cached_property
    def note(self) -> Note:
        """The note, if the file as a whole is one memory."""
        return parse(self.path, self.content, self.vault.dialect)

    @cached_property
    def records(self) -> Mapping[str, JournalRecord]:
        """The records of a journal by their block ids."""
        text = decode(journal.intact(self.content))[0]
        return {record.block: record for record in journal.read(self.path, text).records}


class SourceMemory(Struct, frozen=True, dict=True):
    """A memory with what tells its rows."""

    file: SourceFile
    rows: MemoryRows

    @cached_property
    def name(self) -> str:
        """The name of the memory in events: its id, or else its place."""
        scope = self.file.scope
        if self.rows.uid and uuid5(scope, self.rows.uid) not in self.file.taken:
            return self.rows.uid
        place = f"{scope}/{self.file.path}"
        return f"{place}#^{self.rows.block}" if self.rows.block else place

    @cached_property
    def id(self) -> UUID:
        """The id of its row."""
        return uuid5(self.file.scope, self.name)

    @cached_property
    def embedding(self) -> Vectors | None:
        """The mean of the vectors of its windows; None while one of them is not embedded."""
        return mean_vector(self.rows.chunks)

    @cached_property
    def status(self) -> str:
        """Its status, as it is compared; an empty text without one."""
        return fold(self.text("status") or "")

    def is_note(self, kind: str) -> bool:
        """Whether it is a whole note of a type, and no section of a journal."""
        return self.rows.type == kind and not self.rows.block

    def values(self, key: str) -> list[str]:
        """The values of a field of its front matter."""
        return [value for name, value, _ in self.rows.fields if name == key]

    def text(self, key: str) -> str | None:
        """The first value of a field; None without one."""
        return next((value for value in self.values(key) if value.strip()), None)

    def number(self, key: str) -> int | None:
        """The number in a field; None for other text."""
        text = self.text(key)
        number = int(text) if text and text.isdecimal() and len(text) < 19 else None
        return number if number is not None and number < _LARGEST else None

    def share(self, key: str) -> float | None:
        """The share from 0 to 1 in a field; None for other text."""
        return share_of(self.text(key))

    def time(self, key: str) -> datetime | None:
        """The time in a field; None for other text."""
        return time_of(self.text(key))

    @property
    def date(self) -> datetime:
        """When it was written, or else the date that it is about."""
        return (
            time_of(self.rows.created)
            or time_of(self.rows.date)
            or datetime(1970, 1, 1, tzinfo=UTC)
        )


def time_of(text: str | None) -> datetime | None:
    """The time in UTC in a date of a note. A day begins at midnight in UTC."""
    with suppress(ValueError, TypeError):
        at = datetime.fromisoformat(iso_date(text) or "")
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def mean_vector(chunks: Sequence[ChunkRows]) -> Vectors | None:
    """The normalized mean of the vectors of all windows; None if one of them has none."""
    import numpy as np

    windows = [window.vector for chunk in chunks for window in chunk.windows]
    vectors = [np.frombuffer(vector, "<f4") for vector in windows if vector is not None]
    if not vectors or len(vectors) < len(windows):
        return None
    mean: Vectors = np.array(vectors, np.float32).mean(axis=0, dtype=np.float32)
    length = np.float32(np.linalg.norm(mean))
    return np.divide(mean, length) if length else None
