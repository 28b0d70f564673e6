"""The index on a server as searches and verbs read it; see `search.backend.Index`.

All queries run in one snapshot of the server, that of the transaction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from djinn_memory.home import access
from djinn_memory.models import Part, Vault
from djinn_memory.store.index.records import (
    Backlink,
    CatalogStats,
    ChunkText,
    FieldGroup,
    IndexedChunk,
    IndexedLink,
    IndexedMemory,
    MemoryNames,
    MemoryOpening,
    MemorySize,
    Order,
    Selection,
    TitledRef,
)
from djinn_memory.store.postgres.index.links import Links
from djinn_memory.store.postgres.index.owners import Owners
from djinn_memory.store.postgres.index.scopes import ReadScope, Row, Scopes
from djinn_memory.store.postgres.index.selection import CHUNKS, FROM, ScopeSelections, plain
from djinn_memory.store.postgres.index.vector_index import PostgresVectorIndex
from djinn_memory.store.postgres.index.words import PostgresWordIndex

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

BATCH = 500
"""Number of memories read at once."""

_ALL = Selection()

_NEWEST_PLACE = (
    "case when memory.block is null then 0 else length(memory.path) end desc, "
    "case when memory.block is null then memory.path else '' end, memory.path desc, "
    "memory.lines_above desc"
)
_PLACE = "memory.path, memory.lines_above"

_ORDERS: dict[Order, str] = {
    "newest": f"memory.date desc, {_NEWEST_PLACE}",
    "written": f"coalesce(memory.created, memory.date) desc, modified_ns desc, {_NEWEST_PLACE}",
    "title": f"memory.title, {_PLACE}",
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


class PostgresIndex:
    """Reads one state of the index on a server, limited to `vaults`.

    Numbers of memories and chunks hold for this index only.
    """

    def __init__(
        self,
        tx: Cursor,
        vaults: Sequence[Vault],
        every: Sequence[Vault] = (),
        granted: Mapping[str, Collection[str]] | None = None,
        recipe: str = "",
    ) -> None:
        """`tx` is a cursor in a transaction that sees one snapshot.

        `every` are the vaults of the home. The owner of an id is looked for in all of them.
        `granted` are the domains that each limited agent may see. `recipe` are the settings of the
        embedder that made the server's vectors.
        """
        self._scopes = Scopes(tx, vaults, granted or {})
        self._links = Links(self._scopes, access.reserved_for(every or vaults))
        self._owners = Owners(tx, every or vaults, granted or {})
        self.words = PostgresWordIndex(self._scopes)
        self.vectors = PostgresVectorIndex(self._scopes, recipe)
        self._selections = ScopeSelections(
            self._scopes, self.words.holding_phrase, self._links.neighbours
        )
        self.words.selections = self.vectors.selections = self._selections

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
        selection: Selection = _ALL,
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
                file=scope.path(values["path"]),
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

    def count(self, selection: Selection = _ALL) -> int:
        """The number of memories in a selection."""
        return sum(number for [(number,)] in self._each(selection, "select count(*)"))

    def titles(self, selection: Selection = _ALL) -> list[TitledRef]:
        """The location and title of each memory of a selection, sorted by path."""
        return [
            TitledRef(
                id=uid,
                vault=scope.name,
                path=path,
                block=UNSET if block is None else block,
                title=title,
            )
            for scope in self._by_name(selection)
            for uid, path, block, title in self._selected(
                scope, selection, "select uid, path, block, title", f"order by {_PLACE}"
            )
        ]

    def names(self, selection: Selection = _ALL) -> list[MemoryNames]:
        """The memories of a selection with all their names, sorted by path."""
        return [
            MemoryNames(
                memory_id=scope.key(number),
                id=uid,
                vault=scope.name,
                path=path,
                file=scope.path(path),
                block=UNSET if block is None else block,
                type=kind,
                title=title,
                aliases=tuple(aliases),
            )
            for scope in self._by_name(selection)
            for number, uid, path, block, kind, title, aliases in self._selected(
                scope,
                selection,
                "select number, uid, path, block, type, title, aliases",
                f"order by {_PLACE}",
            )
        ]

    def resolve(self, name: str) -> list[IndexedMemory]:
        """The memories that a name could mean: one, none, or several that share the name."""
        from djinn_memory.store.postgres.index.names import resolve

        keys = resolve(self._scopes, name)
        return sorted(self.lookup(keys).values(), key=lambda memory: memory.address)

    def named(self, names: Collection[str], selection: Selection = _ALL) -> dict[str, str]:
        """The titles of memories of a selection that have one of these names, by name."""
        wanted = [plain(name) for name in names]
        titles: dict[str, str] = {}
        for scope in self._selections.covered(selection):
            where = self._selections.where(scope, selection)
            listed = self._scopes.rows(
                "select wanted.name, min(title) from unnest(%s::text[]) as wanted (name) "
                "join index_memories as memory on memory.user_id = %s "
                "and (memory.name = wanted.name or memory.alias_keys @> array[wanted.name]) "
                f"where {where.sql} group by 1",
                (wanted, scope.id, *where.values),
            )
            for name, title in listed:
                titles[name] = min(title, titles.get(name, title))
        return titles

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to these memories, without links from or to hidden vaults."""
        return self._links.links(memory_ids)

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        """The links in texts of other memories to these, without links from hidden vaults."""
        return self._links.backlinks(memory_ids)

    def counts(self, selection: Selection = _ALL) -> CatalogStats:
        """Counts of notes, chunks, windows and links in a selection."""
        totals: Counter[str] = Counter()
        groups: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
        vaults: dict[str | None, int] = {}
        for scope in self._selections.covered(selection):
            [(notes, memories, chunks, broken)] = self._selected(
                scope,
                selection,
                "select count(distinct note_id), count(*), coalesce(sum(chunks), 0), "
                "count(problem)",
            )
            totals.update(
                notes=notes, memories=memories, chunks=int(chunks), broken=broken,
                **self._parts(scope, selection),
            )  # fmt: skip
            if notes:
                vaults[scope.name] = notes
            for name, value in (("types", "type"), ("planes", "plane"), ("tags", "unnest(tags)")):
                groups[name].update(
                    dict(
                        self._selected(scope, selection, f"select {value}, count(*)", "group by 1")
                    )
                )
        return CatalogStats(
            notes=totals["notes"],
            memories=totals["memories"],
            chunks=totals["chunks"],
            windows=totals["windows"],
            pending=totals["pending"],
            links=totals["links"],
            unresolved=totals["unresolved"],
            broken=totals["broken"],
            types=_sorted(groups["types"]),
            planes=_sorted(groups["planes"]),
            tags=_sorted(groups["tags"]),
            vaults=_sorted(vaults),
        )

    def sizes(self, memory_ids: Collection[int]) -> dict[int, MemorySize]:
        """The number of chunks of each memory, and of its windows that are not embedded yet."""
        sizes: dict[int, MemorySize] = {}
        for scope, numbers in self._scopes.of(memory_ids):
            listed = self._scopes.rows(
                "select chunk.memory, count(distinct chunk.number), "
                "count(windows.number) filter (where vector is null) from index_chunks as chunk "
                "left join index_windows as windows on windows.user_id = chunk.user_id "
                "and windows.chunk = chunk.number "
                "where chunk.user_id = %s and chunk.memory = any(%s) group by 1",
                (scope.id, numbers),
            )
            sizes |= {
                scope.key(key): MemorySize(chunks, waiting) for key, chunks, waiting in listed
            }
        return sizes

    def values(self, name: str, selection: Selection = _ALL) -> list[str]:
        """All values of `tag`, `type`, `title` or a front matter field, in alphabetical order."""
        if name in ("tag", "type", "title"):
            column = "unnest(tags)" if name == "tag" else name
            listed = self._each(selection, f"select distinct {column}")
        else:
            listed = self._each(selection, "select distinct pair ->> 1", field=name)
        return sorted({value for rows in listed for (value,) in rows if value is not None})

    def groups(self, field: str, selection: Selection = _ALL) -> list[FieldGroup]:
        """The memories of a selection by the value of a field, ignoring case, newest group last."""
        from djinn_memory.notes.slugs import fold

        groups: dict[str, FieldGroup] = {}
        listed = self._each(
            selection,
            "select pair ->> 1, memory.date",
            field=field,
        )
        for value, date in (row for rows in listed for row in rows):
            group = groups.get(fold(value), FieldGroup(value, 0, date, date))
            groups[fold(value)] = FieldGroup(
                min(group.value, value), group.count + 1, min(group.first, date),
                max(group.last, date),
            )  # fmt: skip
        return sorted(groups.values(), key=lambda group: (group.last, group.value))

    def _by_name(self, selection: Selection) -> list[ReadScope]:
        """The scopes of a selection in the order of the names of their vaults."""
        return sorted(self._selections.covered(selection), key=lambda scope: scope.name)

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

    def _parts(self, scope: ReadScope, selection: Selection) -> Mapping[str, int]:
        """The numbers of windows and links of a selection in a scope."""
        where = self._selections.where(scope, selection)
        among = f"(select memory.number {FROM} where {where.sql})"
        [(windows, pending)] = self._scopes.rows(
            "select count(*), count(*) filter (where vector is null) from index_windows "
            f"where user_id = %s and memory in {among}",
            (scope.id, *where.values),
        )
        [(links, unresolved)] = self._scopes.rows(
            "select count(*), count(*) filter (where how is null) from index_links "
            f"where user_id = %s and memory in {among}",
            (scope.id, *where.values),
        )
        if self._links.hides:
            own = self._scopes.rows(f"select memory.number {FROM} where {where.sql}", where.values)
            unresolved += self._links.unresolved(scope, {number for (number,) in own})
        return {"windows": windows, "pending": pending, "links": links, "unresolved": unresolved}

    def _each(
        self,
        selection: Selection,
        select: str,
        *,
        field: str | None = None,
    ) -> Iterable[list[Row]]:
        """The rows of a query over the memories of a selection, for each scope.

        With `field`, there is a row for each value of this field; `pair` is key and value.
        """
        joined = "join lateral jsonb_array_elements(fields) as pair on pair ->> 0 = %s"
        for scope in self._selections.covered(selection):
            where = self._selections.where(scope, selection)
            if field is None:
                yield self._scopes.rows(f"{select} {FROM} where {where.sql}", where.values)
            else:
                sql = f"{select} {FROM} {joined} where {where.sql}"
                yield self._scopes.rows(sql, (plain(field), *where.values))

    def _selected(
        self,
        scope: ReadScope,
        selection: Selection,
        select: str,
        after: str = "",
        values: Sequence[object] = (),
    ) -> list[Row]:
        """The rows of a query over the memories of a selection in a scope."""
        where = self._selections.where(scope, selection)
        sql = f"{select} {FROM} where {where.sql} {after}"
        return self._scopes.rows(sql, (*where.values, *values))

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


def _sorted(counts: Mapping[str | None, int]) -> dict[str, int]:
    """Counts by name, the most frequent first."""
    known = {name: number for name, number in counts.items() if name is not None}
    return dict(sorted(known.items(), key=lambda pair: (-pair[1], pair[0])))
