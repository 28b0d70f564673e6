"""The queries of an index about memories, for any database with their rows.

`search.backend.Index` documents the methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from msgspec import UNSET

from djinn_memory.models import Part, Vault
from djinn_memory.notes.slugs import fold
from djinn_memory.store.index.records import (
    COLUMN_FIELDS,
    MEMORY_COLUMNS,
    Backlink,
    CatalogStats,
    ChunkText,
    DocumentTypeCount,
    Edge,
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
    decoded,
)
from djinn_memory.store.index.selection import P, Row, Selections
from djinn_memory.store.index.stored_links import StoredLinks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

R = TypeVar("R", TitledRef, MemoryNames, IndexedMemory)

ALL = Selection()
"""All memories of the vaults."""

_TOTALS = ("memories", "chunks", "windows", "pending", "links", "unresolved", "broken")


_BATCH = 500
"""Number of memories read at once."""

_PLACE = "path, memory.lines_above"
"""The order of memories in a vault by their places."""

_NEWEST_PLACE = (
    "case when memory.block is null then 0 else length(path) end desc, "
    "case when memory.block is null then path else '' end, path desc, memory.lines_above desc"
)
"""The same with the newest first: sections of journals come in reverse. A further journal of a day
has a longer name, such as `2026-11-20.home-2.md`."""

_ORDERS: dict[str, tuple[tuple[str, ...], str]] = {
    "newest": (("memory.date",), _NEWEST_PLACE),
    "written": (("coalesce(memory.created, memory.date)",), _NEWEST_PLACE),
    "title": (("memory.title",), _PLACE),
    "place": ((), _PLACE),
}
"""The columns that each order compares, and the place by which it sorts equals."""

_TITLE = ("vault", "id", "path", "block", "title")
_NAMES = (*_TITLE, "memory_id", "type", "aliases")
_OPENING = ("memory_id", "vault", "id", "path", "block", "type", "date", "text", "fields")

_CHUNK = "ordinal, headings, first_line, last_line, page, parts, text"


class IdClaim(NamedTuple):
    """A memory with an id, which others may have too."""

    id: str
    place: tuple[str, str, str | None]
    """The id of its vault, its path, and its block."""
    readers: str | None
    """Who reads it, as a text to compare; None for everybody."""
    age: tuple[str, int, str]
    """It sorts by age."""


class StoredIndex(ABC, Generic[P]):
    """Reads one state of an index, limited to some vaults. Numbers hold for this index only."""

    def __init__(self, selections: Selections[P], links: StoredLinks[P]) -> None:
        self._selections, self._links = selections, links
        self._tables = selections.tables
        self._roots: dict[str, str] = {}
        """The absolute paths of vaults, by id."""

    vaults: tuple[Vault, ...]
    """The vaults of this view that the index contains."""

    @abstractmethod
    def _claims(self, ids: Collection[str]) -> Iterator[IdClaim]:
        """The memories of the home with these ids."""

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, IndexedChunk]:
        """The chunks with these numbers."""
        return {chunk.chunk_id: chunk for chunk in self._chunks(self._tables.chunk, chunk_ids)}

    def chunks_of(
        self, memory_ids: Collection[int], first: int | None = None
    ) -> dict[int, list[IndexedChunk]]:
        """The chunks of each memory in order; with `first` only that many of each."""
        chunks: dict[int, list[IndexedChunk]] = {}
        limit = "" if first is None else f"ordinal < {first:d} and "
        for chunk in self._chunks(f"{limit}{self._tables.owner}", memory_ids):
            chunks.setdefault(chunk.memory_id, []).append(chunk)
        return chunks

    def texts(self, chunk_ids: Collection[int]) -> Iterator[ChunkText]:
        """The texts of chunks in the order of `chunk_ids`, with titles and dates."""
        tables, known = self._tables, {}
        for part, numbers in self._selections.of(chunk_ids):
            listed = part.rows(
                f"select {tables.chunk}, {tables.memory}, ordinal, first_line, last_line, text, "
                f"title, date {tables.known_chunks} "
                f"where {tables.own} and {tables.chunk} {tables.among}",
                (numbers,),
            )
            for number, memory, ordinal, first, last, *text in listed:
                key = part.key(number)
                known[key] = ChunkText(key, part.key(memory), ordinal, (first, last), *text)
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
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            known = self.lookup(batch, fields=fields)
            yield from (known[key] for key in batch)

    def lookup(
        self, memory_ids: Collection[int], *, fields: Collection[str] | None = None
    ) -> dict[int, IndexedMemory]:
        """Memories by number. `fields` are the front matter keys to load; None loads all."""
        read = list(self._read(memory_ids, MEMORY_COLUMNS, fields=fields))
        ids = {columns["id"] for _, columns in read if columns["id"]}
        owned = _owners(self._claims(ids)) if ids else set()
        loaded = {}
        for vault, columns in read:
            place = vault.id, columns["path"], columns["block"]
            columns["owns_id"] = (columns["id"], place) in owned
            memory = _record(IndexedMemory, columns, vault, fields)
            loaded[memory.memory_id] = memory
        return loaded

    def openings(
        self, selection: Selection, *, characters: int, fields: Collection[str], limit: int
    ) -> Iterator[MemoryOpening]:
        """Yield the beginnings of the newest memories of a selection, newest first."""
        ids = self._ordered(selection, "newest", limit)
        openings = {}
        for vault, columns in self._read(ids, _OPENING, fields=fields, characters=characters):
            values = {**columns, "vault": vault.name, "text": columns["text"] or ""}
            values["fields"] = _front_matter(decoded(columns["fields"]), fields)
            opening = MemoryOpening(**{name: values[name] for name in MemoryOpening._fields})
            openings[columns["memory_id"]] = opening
        yield from (openings[key] for key in ids)

    def titles(self, selection: Selection = ALL) -> list[TitledRef]:
        """The location and title of each memory of a selection, sorted by path."""
        return list(self._placed(TitledRef, selection, _TITLE))

    def names(self, selection: Selection = ALL) -> list[MemoryNames]:
        """The memories of a selection with all their names, sorted by path."""
        return list(self._placed(MemoryNames, selection, _NAMES))

    def resolve(self, name: str) -> list[IndexedMemory]:
        """The memories that a name could mean: one, none, or several that share the name."""
        known = self.lookup(self._links.resolve(name))
        return sorted(known.values(), key=lambda memory: memory.address)

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to these memories, without links from or to hidden vaults."""
        return self._links.links(memory_ids)

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        """The links in texts of other memories to these, without links from hidden vaults."""
        return self._links.backlinks(memory_ids)

    def edges(self, shown: Sequence[str] | None = None) -> list[Edge]:
        """The links between different memories; see `Index.edges`."""
        return self._links.edges(shown)

    def shown(self, parts: Sequence[str]) -> Mapping[str, Collection[int]]:
        """The targets of links by their shown texts; see `Index.shown`."""
        return self._links.shown(parts)

    def ends(self) -> npt.NDArray[np.int64]:
        """The ends and lines of all edges; see `Index.ends`."""
        return self._links.ends()

    def count(self, selection: Selection = ALL) -> int:
        """The number of memories in a selection."""
        return sum(number for _, (number,) in self._selections.selected(selection, "count(*)"))

    def named(self, names: Collection[str], selection: Selection = ALL) -> dict[str, str]:
        """The titles of memories of a selection that have one of these names, by name.

        A name is a title or an alias in the form of `name_key`. Of several memories with one name
        the first title in alphabetical order counts.
        """
        titles: dict[str, str] = {}
        for part in self._selections.parts(selection.filters.vaults):
            where = self._selections.where(part, selection)
            for name, title in part.rows(
                f"select wanted.value, min(title) {self._tables.named} where {where.sql} "
                "group by 1",
                (list(names), *where.values),
            ):
                titles[name] = min(title, titles.get(name, title))
        return titles

    def counts(self, selection: Selection = ALL) -> CatalogStats:
        """Counts of notes, chunks, windows and links in a selection."""
        tables, totals = self._tables, Counter[str]()
        documents: dict[str, Counter[str]] = {}
        for part in self._selections.parts(selection.filters.vaults):
            where = self._selections.where(part, selection)
            for names, source in (
                ({"memories": "true", "broken": "problem is not null"}, tables.memories),
                ({"chunks": "true"}, tables.chunks),
                (
                    {"windows": "true", "pending": tables.waiting},
                    f"{tables.chunks} join {tables.windows}",
                ),
                (
                    {"links": "true", "unresolved": "link.how is null"},
                    f"{tables.memories} {tables.links}",
                ),
            ):
                counted = (f"count(*) filter (where {each})" for each in names.values())
                sql = f"select {', '.join(counted)} {source} where {where.sql}"
                [row] = part.rows(sql, where.values)
                totals.update(dict(zip(names, row, strict=True)))
            sql = (
                f"select value, count(distinct {tables.memory}), count(*) {tables.chunks} "
                f"{tables.field} where {where.sql} and memory.type = 'document' group by 1"
            )
            for value, *numbers in part.rows(sql, ("document_type", *where.values)):
                for name, number in zip(("documents", "chunks"), numbers, strict=True):
                    documents.setdefault(value, Counter())[name] += number
        if lost := [link.source for link in self._links.seen.values() if link.how is None]:
            own = {
                part.key(number)
                for part, (number,) in self._selections.selected(selection, tables.memory)
            }
            totals["unresolved"] += sum(source in own for source in lost)
        select = f"{tables.columns['vault']}, count(distinct memory.note_id)"
        listed = self._selections.selected(selection, select, after="group by 1 order by 1")
        notes = sorted(listed, key=lambda each: (-each[1][1], each[0].name))
        return CatalogStats(
            notes=sum(number for _, (_, number) in notes),
            **{name: totals[name] for name in _TOTALS},
            types=self._groups(selection, "type"),
            planes=self._groups(selection, "plane"),
            tags=self._groups(selection, "tag", tables.tags),
            vaults={part.vault_of(value).name: number for part, (value, number) in notes},
            documents={name: DocumentTypeCount(**documents[name]) for name in sorted(documents)},
        )

    def sizes(self, memory_ids: Collection[int]) -> dict[int, MemorySize]:
        """The number of chunks of each memory, and of its windows that are not embedded yet."""
        tables = self._tables
        return {
            part.key(number): MemorySize(chunks, waiting)
            for part, numbers in self._selections.of(memory_ids)
            for number, chunks, waiting in part.rows(
                f"select {tables.owner}, count(distinct {tables.chunk}), "
                f"count(windows.start) filter (where {tables.waiting}) {tables.chunks_alone} "
                f"left join {tables.windows} where {tables.own} and {tables.owner} {tables.among} "
                "group by 1",
                (numbers,),
            )
        }

    def values(self, name: str, selection: Selection = ALL) -> list[str]:
        """All values of `tag`, `type`, `title` or a front matter field, in alphabetical order."""
        if name == "tag":
            return sorted(self._groups(selection, "tag", self._tables.tags))
        if name in ("type", "title"):
            listed = self._selections.selected(selection, f"distinct {name}")
        else:
            listed = self._selections.selected(
                selection, "distinct value", self._tables.field, "", name
            )
        return sorted({value for _, (value,) in listed if value is not None})

    def groups(self, field: str, selection: Selection = ALL) -> list[FieldGroup]:
        """The memories of a selection by the value of a field, ignoring case, newest group last."""
        groups: dict[str, FieldGroup] = {}
        for _, (value, date) in self._selections.selected(
            selection, "value, memory.date", self._tables.field, "", field
        ):
            group = groups.get(fold(value), FieldGroup(value, 0, date, date))
            groups[fold(value)] = FieldGroup(
                min(group.value, value), group.count + 1, min(group.first, date),
                max(group.last, date),
            )  # fmt: skip
        return sorted(groups.values(), key=lambda group: (group.last, group.value))

    def _ordered(
        self, selection: Selection, order: Order, limit: int | None = None, skip: int = 0
    ) -> list[int]:
        """The numbers of the memories of a selection in an order."""
        return [
            part.key(number)
            for part, (number,) in self._sorted(selection, order, self._tables.memory, limit, skip)
        ]

    def _placed(self, kind: type[R], selection: Selection, names: Sequence[str]) -> Iterator[R]:
        """Records of the memories of a selection with these columns, sorted by place."""
        for part, row in self._sorted(selection, "place", self._tables.select(names)):
            vault, columns = self._described(part, names, row)
            yield _record(kind, columns, vault)

    def _sorted(
        self,
        selection: Selection,
        order: Order | Literal["place"],
        select: str,
        limit: int | None = None,
        skip: int = 0,
    ) -> list[tuple[P, Row]]:
        """The rows of a query over the memories of a selection in an order, without some."""
        keys, place = _ORDERS[order]
        if order == "written":
            keys = (*keys, self._tables.modified)
        most = None if limit is None or limit < 0 else limit + skip
        falling = " desc" if place is _NEWEST_PLACE else ""
        by = ", ".join([*(f"{key}{falling}" for key in keys), f"{self._tables.vault_order}{place}"])
        limited = "" if most is None else f" limit {most:d}"
        listed = [
            (row[: len(keys)], part, row[len(keys) :])
            for part, row in self._selections.selected(
                selection, ", ".join([*keys, select]), after=f"order by {by}{limited}"
            )
        ]
        if len({part.position for _, part, _ in listed}) > 1:
            # Sorting keeps the order of equals: by vault, then as in the vault.
            listed.sort(key=lambda each: each[1].name)
            listed.sort(key=lambda each: each[0], reverse=bool(falling))
        return [(part, row) for _, part, row in listed[skip:most]]

    def _read(
        self,
        memory_ids: Collection[int],
        names: Sequence[str],
        *,
        fields: Collection[str] | None,
        characters: int = 0,
    ) -> Iterator[tuple[Vault, dict[str, Any]]]:
        """These columns of memories with their vaults; see `Tables.columns`."""
        tables = self._tables
        for part, numbers in self._selections.of(memory_ids):
            where = part.readable
            where.add(f"{tables.memory} {tables.among}", numbers)
            select = tables.select(names, fields, characters)
            for row in part.rows(
                f"select {select} {tables.memories} where {where.sql}", where.values
            ):
                yield self._described(part, names, row)

    def _described(self, part: P, names: Sequence[str], row: Row) -> tuple[Vault, dict[str, Any]]:
        """The columns of a row with numbers of the index, and the vault of its memory."""
        columns = dict(zip(names, row, strict=True))
        vault = part.vault_of(columns["vault"])
        if vault.id not in self._roots:
            self._roots[vault.id] = str(vault.root.resolve())
        columns["file"] = f"{self._roots[vault.id]}/{columns['path']}"
        for name in ("memory_id", "first_chunk"):
            if columns.get(name) is not None:
                columns[name] = part.key(columns[name])
        return vault, columns

    def _groups(self, selection: Selection, column: str, joined: str = "") -> dict[str, int]:
        """The number of memories by the value of a column, ignoring case, most frequent first.

        A value is written as most of its memories write it.
        """
        counts = Counter[str]()
        select = f"{column}, count(*)"
        for _, (value, number) in self._selections.selected(
            selection, select, joined, "group by 1"
        ):
            if value is not None:
                counts[value] += number
        written: dict[str, str] = {}
        merged = Counter[str]()
        for value, number in sorted(counts.items(), key=_most_frequent):
            merged[written.setdefault(fold(value), value)] += number
        return dict(sorted(merged.items(), key=_most_frequent))

    def _chunks(self, column: str, keys: Collection[int]) -> Iterator[IndexedChunk]:
        """The chunks whose column has one of these numbers, in order."""
        tables = self._tables
        for part, numbers in self._selections.of(keys):
            for number, memory, ordinal, headings, first, last, page, parts, text in part.rows(
                f"select {tables.chunk}, {tables.owner}, {_CHUNK} {tables.chunks_alone} "
                f"where {tables.own} and {column} {tables.among} order by 2, ordinal",
                (numbers,),
            ):
                yield IndexedChunk(
                    part.key(number), part.key(memory), ordinal, tuple(decoded(headings)),
                    (first, last), page,
                    tuple(Part(at, row, tuple(path)) for at, row, path in decoded(parts or "[]")),
                    text,
                )  # fmt: skip


def _record(
    kind: type[R], columns: dict[str, Any], vault: Vault, fields: Collection[str] | None = None
) -> R:
    """A record of a memory in a vault, from the values of its columns.

    Of the front matter it has the `fields` with these keys; None stands for all.
    """
    values = {**columns, "vault": vault.name}
    values["block"] = UNSET if values["block"] is None else values["block"]
    if "dated" in values:
        values["dated"] = bool(values["dated"])
    for name in ("tags", "aliases"):
        if name in values:
            values[name] = tuple(decoded(values[name]))
    if "fields" in values:
        pairs = decoded(values["fields"])
        for name in COLUMN_FIELDS:
            values[name] = ", ".join(value for key, value in pairs if key == name) or None
        values["fields"] = _front_matter(pairs, fields)
    return kind(**values)


def _front_matter(
    pairs: Iterable[tuple[str, str]], fields: Collection[str] | None
) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in pairs if fields is None or key in fields)


def _most_frequent(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def readers(agent: str | None, excluded: str) -> str | None:
    """Who reads memories of an agent's vault, except some agents; see `IdClaim`."""
    return f"{agent or ''} but {excluded}" if agent or excluded else None


def _owners(claims: Iterable[IdClaim]) -> set[tuple[str, tuple[str, str, str | None]]]:
    """The id and place of each memory that owns its id, as every reader sees it.

    A memory for everybody keeps its id whatever memories of some agents hold, so that nobody is
    shown a trace of what is hidden. Among memories with the same readers the oldest keeps it.
    """
    by_id: dict[str, list[IdClaim]] = {}
    for claim in claims:
        by_id.setdefault(claim.id, []).append(claim)
    return {
        (own.id, own.place)
        for alike in by_id.values()
        for own in alike
        if not any(
            (other.readers is None and own.readers is not None)
            or (other.readers == own.readers and other.age < own.age)
            for other in alike
        )
    }
