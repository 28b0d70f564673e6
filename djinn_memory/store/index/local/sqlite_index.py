"""The index of a home, in SQLite. `search.backend.Index` documents the methods."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path

import apsw
from msgspec.structs import replace

from djinn_memory.home import access
from djinn_memory.models import Vault
from djinn_memory.notes.link_resolution import LinkTarget
from djinn_memory.store.index import compartments, links, memories
from djinn_memory.store.index.local.sqlite_tables import SqlitePart, SqliteSelections
from djinn_memory.store.index.local.sqlite_vectors import (
    SqliteVectorIndex,
    TokenSigns,
    no_token_signs,
)
from djinn_memory.store.index.local.sqlite_words import SqliteWordIndex
from djinn_memory.store.index.records import IndexedLink
from djinn_memory.store.index.selection import Row
from djinn_memory.store.index.stored_index import IdClaim, StoredIndex, readers
from djinn_memory.store.index.stored_links import StoredLink, StoredLinks
from djinn_memory.store.sqlite import peek

_AMONG = "in (select value from json_each(%s))"

_LINKS = (
    "select link.id, source.vault_id, source.path, memory.id, target_memory_id, target, line, "
    "start, field, embed, how, link.candidates is not null, heading, link.block, kind, "
    "leads.compartment_id, link.candidates from link join memory on memory.id = link.memory_id "
    "join note as source on source.id = memory.note_id "
    "left join note as other on other.id = target_note_id "
    "left join memory as leads on leads.id = target_memory_id "
    f"where memory.compartment_id {_AMONG} "
    f"and (other.vault_id is null or other.vault_id {_AMONG}) and "
)
"""Links of readable memories, without links to hidden vaults."""


class SqliteLinks(StoredLinks[SqlitePart]):
    """The links of some vaults of a home."""

    _selections: SqliteSelections

    @cached_property
    def _part(self) -> SqlitePart:
        return self._selections.parts()[0]

    def _stored(self, memory_ids: Collection[int]) -> Iterator[StoredLink]:
        """See `StoredLinks`."""
        ids = list(memory_ids)
        where = f"(link.memory_id {_AMONG} or target_memory_id {_AMONG})"
        return (stored for stored, *_ in self._read(where, ids, ids))

    def _affected(self) -> Iterator[StoredLink]:
        """See `StoredLinks`."""
        hidden = links.hidden_notes(self._part.connection, self._vaults)
        unreadable = compartments.hidden(self._part.connection, self._vaults)
        read = self._read("(target_note_id is not null or link.candidates is not null)")
        for stored, compartment, candidates in read:
            if compartment in unreadable or not hidden.isdisjoint(json.loads(candidates or "[]")):
                yield stored

    def _read(self, where: str, *values: object) -> Iterator[tuple[StoredLink, int | None, str]]:
        """Links, each with the compartment that it leads to and the notes that it could mean."""
        part = self._part
        bound = part.compartments, list(part.vaults), *values
        for key, vault, path, *row, compartment, candidates in part.rows(_LINKS + where, bound):
            source, target, text, line, start, field, embed, how, ambiguous, *rest = row
            shown = bool(embed), how, bool(ambiguous)
            link = IndexedLink(source, target, text, line, start, field, *shown, *rest)
            yield StoredLink(key, link, part.vault_of(vault).name, path), compartment, candidates

    @cached_property
    def _every_note(self) -> list[LinkTarget]:
        return links.targets(self._part.connection, self._vaults)

    def _notes(
        self, named: str | None = None, keys: Collection[str] | None = None
    ) -> list[LinkTarget]:
        """All notes: they are read fast."""
        return self._every_note

    def _place(self, key: int) -> tuple[SqlitePart, int]:
        """See `StoredLinks`."""
        return self._part, key


class SqliteIndex(StoredIndex[SqlitePart]):
    """Reads one state of the index, limited to `vaults`. Open it with `State.reading`."""

    def __init__(
        self,
        connection: apsw.Connection,
        vaults: Sequence[Vault],
        every: Sequence[Vault] = (),
        token_signs: TokenSigns = no_token_signs,
    ) -> None:
        """`every` are the vaults of the home. The owner of an id is looked for in all of them.

        `token_signs` finds the token signs of texts in the cache, by the model's identity and text
        hashes.
        """
        self._connection = connection
        self._every = every or vaults
        numbered = memories.vault_ids(connection, vaults)
        selections = SqliteSelections(connection, numbered)
        self.vaults = tuple(numbered.values())
        self.words = SqliteWordIndex(connection, selections)
        self.vectors = SqliteVectorIndex(connection, selections, token_signs)
        reserved = access.reserved_for(self._every)
        super().__init__(selections, SqliteLinks(selections, self.vaults, reserved))

    @cached_property
    def _owning(self) -> dict[int, compartments.Compartment]:
        """The compartments of the home's vaults by number."""
        known = [replace(vault, reader=None) for vault in self._every]
        return {part.number: part for part in compartments.readable(self._connection, known)}

    def _claims(self, ids: Collection[str]) -> Iterator[IdClaim]:
        """See `StoredIndex`."""
        listed: list[Row] = self._selections.parts()[0].rows(
            "select uid, compartment_id, path, block, coalesce(created, 'z'), mtime_ns "
            f"from memory join note on note.id = note_id where uid {_AMONG}",
            [list(ids)],
        )
        for uid, number, path, block, created, modified in listed:
            if part := self._owning.get(number):
                who = readers(part.vault.agent, part.excluded)
                age = created, modified, path
                yield IdClaim(uid, (part.vault.id, path, block), who, age)


@contextmanager
def peeking(
    path: Path, vaults: Sequence[Vault], granted: Mapping[str, Collection[str]]
) -> Iterator[SqliteIndex]:
    """The index at `path` for a short read. No file is created beside it.

    An index that is not divided by `granted` yet shows a limited agent no vault.
    """
    with closing(peek(path)) as connection:
        limited = any(vault.reader for vault in vaults)
        divided = compartments.grants(connection) == compartments.folded(granted)
        yield SqliteIndex(connection, vaults if divided or not limited else ())
