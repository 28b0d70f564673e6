"""What an index counts and lists, in whichever database its rows are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Generic

from djinn_memory.notes.slugs import fold
from djinn_memory.store.index.records import CatalogStats, FieldGroup, MemorySize, Selection
from djinn_memory.store.index.selection import P, Selections
from djinn_memory.store.index.stored_links import StoredLinks

ALL = Selection()
"""All memories of the vaults."""

_TOTALS = ("memories", "chunks", "windows", "pending", "links", "unresolved", "broken")


class StoredCatalog(Generic[P]):
    """Counts and lists memories of some vaults. `search.backend.Index` documents the methods."""

    def __init__(self, selections: Selections[P], links: StoredLinks[P]) -> None:
        self._selections, self._links = selections, links
        self._tables = selections.tables

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
        if name in ("tag", "type", "title"):
            joined = self._tables.tags if name == "tag" else ""
            listed = self._selections.selected(selection, f"distinct {name}", joined)
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

    def _groups(self, selection: Selection, column: str, joined: str = "") -> dict[str, int]:
        """The number of memories of a selection by the value of a column, most frequent first."""
        counts = Counter[str]()
        select = f"{column}, count(*)"
        for _, (value, number) in self._selections.selected(
            selection, select, joined, "group by 1"
        ):
            if value is not None:
                counts[value] += number
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
