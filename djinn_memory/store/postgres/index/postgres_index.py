"""The index on a server as searches and verbs read it; see `search.backend.Index`.

All queries run in one snapshot of the server, that of the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec import UNSET

from djinn_memory.home import access
from djinn_memory.models import Part, Vault
from djinn_memory.store.index.records import (
    Backlink,
    ChunkText,
    IndexedChunk,
    IndexedLink,
    IndexedMemory,
    MemoryOpening,
    Order,
    Selection,
)
from djinn_memory.store.postgres.index.catalog import ALL, PLACE, PostgresCatalog
from djinn_memory.store.postgres.index.links import Links
from djinn_memory.store.postgres.index.owners import Owners
from djinn_memory.store.postgres.index.scopes import ReadScope, Scopes
from djinn_memory.store.postgres.index.selection import CHUNKS, ScopeSelections
from djinn_memory.store.postgres.index.vector_index import PostgresVectorIndex
from djinn_memory.store.postgres.index.words.word_index import PostgresWordIndex

BATCH = 500
"""Number of memories read at once."""

_NEWEST_PLACE = (
    "case when memory.block is null then 0 else length(memory.path) end desc, "
    "case when memory.block is null then memory.path else '' end, memory.path desc, "
    "memory.lines_above desc"
)

_ORDERS: dict[Order, str] = {
    "newest": f"memory.date desc, {_NEWEST_PLACE}",
    "written": f"coalesce(memory.created, memory.date) desc, modified_ns desc, {_NEWEST_PLACE}",
    "title": f"memory.title, {PLACE}",
}
"""The orders in one scope."""

_SORT_KEYS: dict[Order, str] = {
    "newest": "memory.date, 0",
    "written": "coalesce(memory.created, memory.date), modified_ns",
    "title": "memory.title, 0",
}
"""What comes before the vault's name in an order."""

_COLUMNS = (
    "id", "path", "type", "plane", "title", "created", "updated", "date", "hash", "problem",
    "block", "dated", "tags", "aliases", "fields",
)  # fmt: skip

_MEMORY = (
    "select number, domain_set, chunks, uid, path, type, plane, title, created, updated, date, "
    "encode(case when block is null then hash else digest end, 'hex'), problem, block, dated, "
    "tags, aliases, fields from index_memories as memory "
    "where user_id = %s and number = any(%s) and domain_set = any(%s)"
)

_CHUNK = (
    "select number, memory, ordinal, headings, first_line, last_line, page, parts, text "
    "from index_chunks where user_id = %s and "
)


class PostgresIndex(PostgresCatalog):
    """Reads one state of the index on a server, limited to `vaults`.

    Numbers of memories and chunks hold for this index only.
    """

    def __init__(self, scopes: Scopes, every: Sequence[Vault] = (), recipe: str = "") -> None:
        """`scopes` are read in a transaction that sees one snapshot.

        `every` are the vaults of the home. The owner of an id is looked for in all of them.
        `recipe` are the settings of the embedder that made the server's vectors.
        """
        own = [scope.vault for scope in scopes]
        links = Links(scopes, access.reserved_for(every or own))
        self.words = PostgresWordIndex(scopes)
        self.vectors = PostgresVectorIndex(scopes, recipe)
        selections = ScopeSelections(scopes, self.words.holding_phrase, links.neighbours)
        self.words.selections = self.vectors.selections = selections
        super().__init__(scopes, selections, links)
        self._owners = Owners(scopes, every or own)

    @property
    def vaults(self) -> tuple[Vault, ...]:
        """The vaults of this view that the server has."""
        return tuple(scope.vault for scope in self._scopes)

    def content(self, vault: str, path: str) -> bytes | None:
        """The bytes of a note that the reader may see."""
        for scope in self._scopes.named([vault]):
            listed = self._scopes.rows(
                "select content from notes where user_id = %s and path = %s and not deleted "
                "and note_id in (select note_id from index_memories where user_id = %s "
                "and path = %s and domain_set = any(%s))",
                (scope.id, path, scope.id, path, scope.visible),
            )
            for (content,) in listed:
                return bytes(content)
        return None

    def plan(self) -> str:
        """What was read, and the indexes that the server's planner used for the last question."""
        vaults = ", ".join(scope.name for scope in self._scopes) or "none"
        used = (
            f"{name} by {', '.join(indexes) or 'a scan'}"
            for name, indexes in self._scopes.plans().items()
        )
        return "; ".join([f"Postgres, vaults: {vaults}", *used])

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, IndexedChunk]:
        """The chunks with these numbers."""
        return {
            chunk.chunk_id: chunk
            for scope, numbers in self._scopes.of(chunk_ids)
            for chunk in self._chunks(scope, "number = any(%s) order by memory, ordinal", numbers)
        }

    def chunks_of(
        self, memory_ids: Collection[int], first: int | None = None
    ) -> dict[int, list[IndexedChunk]]:
        """The chunks of each memory in order; with `first` only that many of each."""
        chunks: dict[int, list[IndexedChunk]] = {}
        limit = "" if first is None else f"and ordinal < {first:d} "
        for scope, numbers in self._scopes.of(memory_ids):
            where = f"memory = any(%s) {limit}order by memory, ordinal"
            for chunk in self._chunks(scope, where, numbers):
                chunks.setdefault(chunk.memory_id, []).append(chunk)
        return chunks

    def texts(self, chunk_ids: Collection[int]) -> Iterator[ChunkText]:
        """The texts of chunks in the order of `chunk_ids`, with titles and dates."""
        known = {}
        for scope, numbers in self._scopes.of(chunk_ids):
            listed = self._scopes.rows(
                "select chunk.number, memory.number, ordinal, first_line, last_line, text, title, "
                f"date {CHUNKS} where chunk.user_id = %s and chunk.number = any(%s)",
                (scope.id, numbers),
            )
            for number, memory, ordinal, first, last, text, title, date in listed:
                key = scope.key(number)
                known[key] = ChunkText(
                    key, scope.key(memory), ordinal, (first, last), text, title, date
                )
        yield from (known[key] for key in chunk_ids if key in known)

    def memories(
        self,
        selection: Selection = ALL,
        *,
        order: Order = "newest",
        limit: int | None = None,
        skip: int = 0,
        fields: Collection[str] | None = None,
    ) -> Iterator[IndexedMemory]:
        """Yield the memories of a selection while they are read; `fields` are those to load."""
        ids = self._ordered(selection, order, limit, skip)
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            known = self.lookup(batch, fields=fields)
            yield from (known[key] for key in batch)

    def lookup(
        self, memory_ids: Collection[int], *, fields: Collection[str] | None = None
    ) -> dict[int, IndexedMemory]:
        """Memories by number. `fields` are the front matter keys to load; None loads all."""
        rows = [
            (scope, row)
            for scope, numbers in self._scopes.of(memory_ids)
            for row in self._scopes.rows(_MEMORY, (scope.id, numbers, scope.visible))
        ]
        owned = self._owners.among([(scope.id, row[0], row[3]) for scope, row in rows if row[3]])
        loaded = {}
        for scope, (number, _, chunks, *row) in rows:
            values = dict(zip(_COLUMNS, row, strict=True))
            pairs = [(key, value) for key, value in values["fields"]]
            domains = [value for key, value in pairs if key == access.DOMAIN]
            values["tags"], values["aliases"] = tuple(values["tags"]), tuple(values["aliases"])
            values["block"] = UNSET if values["block"] is None else values["block"]
            values["fields"] = tuple(pair for pair in pairs if fields is None or pair[0] in fields)
            key = scope.key(number)
            loaded[key] = IndexedMemory(
                **values,
                vault=scope.name,
                file=self._scopes.path(scope, values["path"]),
                domain=", ".join(domains) or None,
                memory_id=key,
                owns_id=(scope.id, number) in owned,
                first_chunk=key + 1 if chunks else None,
            )
        return loaded

    def openings(
        self,
        selection: Selection,
        *,
        characters: int,
        fields: Collection[str],
        limit: int,
    ) -> Iterator[MemoryOpening]:
        """Yield the beginnings of the newest memories of a selection, newest first."""
        ids = self._ordered(selection, "newest", limit, 0)
        openings = {}
        for scope, numbers in self._scopes.of(ids):
            listed = self._scopes.rows(
                "select memory.number, uid, path, block, type, date, left(text, %s), fields "
                "from index_memories as memory left join index_chunks as chunk "
                "on chunk.user_id = memory.user_id and chunk.memory = memory.number "
                "and ordinal = 0 where memory.user_id = %s and memory.number = any(%s)",
                (characters, scope.id, numbers),
            )
            for number, uid, path, block, kind, date, text, values in listed:
                loaded = tuple((key, value) for key, value in values if key in fields)
                openings[scope.key(number)] = MemoryOpening(
                    uid, scope.name, path, block, kind, date, text or "", loaded
                )
        yield from (openings[key] for key in ids)

    def resolve(self, name: str) -> list[IndexedMemory]:
        """The memories that a name could mean: one, none, or several that share the name."""
        from djinn_memory.store.postgres.index.names import resolve

        keys = resolve(self._scopes, name)
        return sorted(self.lookup(keys).values(), key=lambda memory: memory.address)

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to these memories, without links from or to hidden vaults."""
        return self._links.links(memory_ids)

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        """The links in texts of other memories to these, without links from hidden vaults."""
        return self._links.backlinks(memory_ids)

    def _ordered(
        self, selection: Selection, order: Order, limit: int | None, skip: int
    ) -> list[int]:
        """The numbers of the memories of a selection in an order."""
        most = None if limit is None or limit < 0 else limit + skip
        listed = [
            (first, second, scope.key(number))
            for scope in self._by_name(selection)
            for number, first, second in self._selected(
                scope,
                selection,
                f"select number, {_SORT_KEYS[order]}",
                f"order by {_ORDERS[order]} limit %s",
                (most,),
            )
        ]
        # Sorting keeps the order of equals: by vault, then as in the vault.
        listed.sort(key=lambda row: row[:2], reverse=order != "title")
        return [key for *_, key in listed[skip:most]]

    def _chunks(self, scope: ReadScope, where: str, numbers: list[int]) -> Iterator[IndexedChunk]:
        listed = self._scopes.rows(f"{_CHUNK}{where}", (scope.id, numbers))
        for number, memory, ordinal, headings, first, last, page, parts, text in listed:
            yield IndexedChunk(
                scope.key(number),
                scope.key(memory),
                ordinal,
                tuple(headings),
                (first, last),
                page,
                tuple(msgspec.convert(parts, list[Part])),
                text,
            )
