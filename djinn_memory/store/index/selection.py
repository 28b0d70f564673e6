"""Finds the rows of a selection, in whichever database they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct, field

from djinn_memory.models import Vault
from djinn_memory.store.index.predicates import Kind, predicates
from djinn_memory.store.index.records import COLUMN_FIELDS, ChunkRef, Forms, Selection, decoded

Row = tuple[Any, ...]


class Tables(Struct, frozen=True):
    """How a store names the parts of every index, and its SQL for each predicate.

    Statements have `%s` for each value, and `{part}` for the constant by which a server finds the
    rows of a vault.
    """

    memories: str
    """`from` memories with their notes, as `memory`."""
    chunks: str
    """`from` chunks, as `chunk`, with their memories."""
    known_chunks: str
    """The same for chunks that are given by their numbers."""
    chunks_alone: str
    """The same without their memories."""
    own: str
    """The condition that chunks are of the part."""
    windows: str
    """The windows of chunks to join, as `windows`."""
    links: str
    """Joins the links of memories, as `link`."""
    tags: str
    """Joins the tags of memories, as `tag`."""
    field: str
    """Joins the values of a field of memories, as `value`. The key is a value of the statement."""
    named: str
    """`from` some names, as `wanted.value`, and the memories with each as title or alias."""
    memory: str
    """The number of a memory."""
    chunk: str
    """The number of a chunk."""
    owner: str
    """The number of the memory of a chunk."""
    among: str
    """The end of the condition that a column has one of some values."""
    waiting: str
    """The condition that a window has no vector."""
    modified: str
    """When the file of a memory was changed."""
    vault_order: str
    """Sorts memories of several vaults in one part."""
    columns: Mapping[str, str]
    """The columns of records of a memory; see `StoredIndex`."""
    predicates: Mapping[Kind, Callable[..., tuple[Any, ...]]]
    """Takes the values of a predicate; returns its SQL and the values of that."""

    def select(
        self, names: Sequence[str], fields: Collection[str] | None = None, characters: int = 0
    ) -> str:
        """The columns with these names.

        Of the front matter they have at least the `fields` with these keys, and of a text that
        many characters.
        """
        columns = ", ".join(self.columns[name] for name in names)
        wanted = ["'" + key.replace("'", "''") + "'" for key in (*(fields or ()), *COLUMN_FIELDS)]
        keys = "true" if fields is None else f"key in ({', '.join(wanted)})"
        return columns.replace("{keys}", keys).replace("{characters}", str(characters))


class Condition(Struct):
    """A boolean SQL expression, and its values."""

    parts: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The expression."""
        return " and ".join(self.parts)

    def add(self, sql: str, *values: object) -> None:
        """Add a requirement."""
        self.parts.append(sql)
        self.values.extend(values)


class IndexPart(Protocol):
    """The part that one statement reads: the index of a home, or a vault on a server."""

    @property
    def position(self) -> int:
        """Its place among the parts of the index."""

    @property
    def name(self) -> str:
        """The name of its vault, by which parts are sorted."""

    @property
    def readable(self) -> Condition:
        """A new condition: the memory is in the part, and the reader may see it."""

    def key(self, number: int) -> int:
        """The number of a memory or chunk in the index, from that in the part."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""

    def vault_of(self, value: Any) -> Vault:
        """The vault of a row, from the column `vault`."""

    def places(self, places: Sequence[tuple[str, str]]) -> Sequence[object]:
        """The places, out of the given pairs of vault and path, that are in the part."""

    def expiries(self) -> Sequence[str]:
        """The distinct values of `expires` that the reader may see."""


P = TypeVar("P", bound=IndexPart)


class Selections(ABC, Generic[P]):
    """Finds the memories and chunks of selections in the parts of an index."""

    chunks_with: Callable[[Forms], Collection[int]]
    """Finds the chunks that contain a phrase in any of its forms, wherever it stands. The index
    sets it."""

    tables: ClassVar[Tables]
    hides: bool
    """Whether any memory may be hidden from the reader."""

    def __init__(self) -> None:
        self.expired: dict[tuple[int, datetime], tuple[str, ...]] = {}
        """The values of `expires` in a part that have passed at a time."""

    @abstractmethod
    def parts(self, names: Sequence[str] = ()) -> Sequence[P]:
        """The parts with the vaults of these names; without names, all."""

    @abstractmethod
    def of(self, keys: Iterable[int]) -> Iterable[tuple[P, list[int]]]:
        """The part of numbers in the index, with the numbers in the part."""

    def where(self, part: P, selection: Selection, *, chunks: bool = False) -> Condition:
        """The condition of a selection in a part; for `chunks` see `predicates`."""
        where = part.readable
        for kind, values, holds in predicates(selection, _Facts(self, part), chunks=chunks):
            sql, *bound = self.tables.predicates[kind](*values)
            where.add(sql if holds else f"({sql}) is not true", *bound)
        return where

    def takes_all(self, part: P, selection: Selection) -> bool:
        """Whether a selection of chunks includes all of a part."""
        return next(predicates(selection, _Facts(self, part), chunks=True), None) is None

    def conditions(self, selection: Selection) -> dict[int, tuple[P, Condition]]:
        """The parts that a selection of chunks covers, by position, each with its condition."""
        return {
            part.position: (part, self.where(part, selection, chunks=True))
            for part in self.parts(selection.filters.vaults)
        }

    def selected(
        self, selection: Selection, select: str, joined: str = "", after: str = "", *bound: object
    ) -> Iterator[tuple[P, Row]]:
        """The rows of a query over the memories of a selection, with the part of each."""
        for part in self.parts(selection.filters.vaults):
            where = self.where(part, selection)
            sql = f"select {select} {self.tables.memories} {joined} where {where.sql} {after}"
            for row in part.rows(sql, (*bound, *where.values)):
                yield part, row

    def refs(
        self, chunk_ids: Iterable[int], conditions: Mapping[int, tuple[P, Condition]] | None = None
    ) -> dict[int, ChunkRef]:
        """The chunks that meet the condition of their part; without conditions, all readable."""
        tables, refs = self.tables, {}
        select = f"select {tables.chunk}, {tables.memory}, {tables.columns['vault']}, path, "
        for part, numbers in self.of(chunk_ids):
            if conditions is None:
                where = part.readable
            elif part.position in conditions:
                where = conditions[part.position][1]
            else:
                continue
            listed = part.rows(
                f"{select} first_line, ordinal {tables.known_chunks} "
                f"where {tables.chunk} {tables.among} and {where.sql}",
                (numbers, *where.values),
            )
            for number, memory, vault, path, line, ordinal in listed:
                place = part.vault_of(vault).name, path, line, ordinal
                refs[part.key(number)] = ChunkRef(part.key(number), part.key(memory), place)
        return refs

    def best(
        self,
        batches: Iterable[Mapping[int, float]],
        conditions: Mapping[int, tuple[P, Condition]],
        limit: int,
        per_memory: int,
    ) -> list[ChunkRef]:
        """Chunks that meet the condition of their part, best first, at most `per_memory` each.

        `batches` are the scores of chunks, the best first. Equals are in one batch. Filters that
        leave little need many batches, so the chunks that they leave are best read after a few.
        """
        refs: list[ChunkRef] = []
        counts: Counter[int] = Counter()
        for scores in batches:
            matches = self.refs(scores, conditions).values()
            for ref in sorted(matches, key=lambda ref: (-scores[ref.chunk_id], ref.place)):
                if counts[ref.memory_id] < per_memory:
                    counts[ref.memory_id] += 1
                    refs.append(ref)
                    if len(refs) == limit:
                        return refs
        return refs

    def chunks_of(self, conditions: Mapping[int, tuple[P, Condition]]) -> list[int]:
        """All chunks that meet the condition of their part."""
        select = f"select {self.tables.chunk} {self.tables.chunks}"
        return [
            part.key(number)
            for part, where in conditions.values()
            for (number,) in part.rows(f"{select} where {where.sql}", where.values)
        ]


class _Facts(Generic[P]):
    """The data of a part that predicates need; see `PartFacts`."""

    def __init__(self, selections: Selections[P], part: P) -> None:
        self._selections, self._part = selections, part
        self.places = part.places

    def expired(self, now: datetime) -> tuple[str, ...]:
        """The values of `expires` that have passed. A day ends in the local time zone."""
        known, key = self._selections.expired, (self._part.position, now)
        if key not in known:
            from djinn_memory.notes.dates import over

            # A comparison in SQL would need its own rules for dates.
            known[key] = tuple(text for text in self._part.expiries() if over(text.upper(), now))
        return known[key]

    def periods(self) -> Iterator[tuple[int, str | None, str | None]]:
        """The memories, except facts, that state `valid_from` or `valid_to`, with both."""
        tables, where = self._selections.tables, self._part.readable
        sql, *values = tables.predicates["stated"]("valid_from", "valid_to")
        where.add(sql, *values)
        columns = tables.select(("memory_id", "fields"), ("valid_from", "valid_to"))
        listed = self._part.rows(
            f"select {columns} {tables.memories} "
            f"where {where.sql} and (memory.type = 'fact') is not true",
            where.values,
        )
        for number, fields in listed:
            stated = dict(reversed(decoded(fields)))
            yield number, stated.get("valid_from"), stated.get("valid_to")

    def chunks_with(self, phrase: Forms) -> list[int]:
        """The chunks that contain a phrase in any of its forms."""
        keys = self._selections.chunks_with(phrase)
        return next(
            (
                numbers
                for part, numbers in self._selections.of(keys)
                if part.position == self._part.position
            ),
            [],
        )
