"""Counts and lists what the index on a server holds; see `search.backend.Index`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import UNSET

from djinn_memory.store.index.records import (
    CatalogStats,
    FieldGroup,
    MemoryNames,
    MemorySize,
    Selection,
    TitledRef,
)
from djinn_memory.store.postgres.index.links import Links
from djinn_memory.store.postgres.index.scopes import ReadScope, Row, Scopes
from djinn_memory.store.postgres.index.selection import FROM, ScopeSelections, plain

ALL = Selection()

PLACE = "memory.path, memory.lines_above"
"""The order of memories in a scope by their places."""


class PostgresCatalog:
    """Counts and lists memories of some scopes."""

    def __init__(self, scopes: Scopes, selections: ScopeSelections, links: Links) -> None:
        self._scopes, self._selections, self._links = scopes, selections, links

    def count(self, selection: Selection = ALL) -> int:
        """The number of memories in a selection."""
        return sum(number for [(number,)] in self._each(selection, "select count(*)"))

    def titles(self, selection: Selection = ALL) -> list[TitledRef]:
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
                scope, selection, "select uid, path, block, title", f"order by {PLACE}"
            )
        ]

    def names(self, selection: Selection = ALL) -> list[MemoryNames]:
        """The memories of a selection with all their names, sorted by path."""
        return [
            MemoryNames(
                memory_id=scope.key(number),
                id=uid,
                vault=scope.name,
                path=path,
                file=self._scopes.path(scope, path),
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
                f"order by {PLACE}",
            )
        ]

    def named(self, names: Collection[str], selection: Selection = ALL) -> dict[str, str]:
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

    def counts(self, selection: Selection = ALL) -> CatalogStats:
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

    def values(self, name: str, selection: Selection = ALL) -> list[str]:
        """All values of `tag`, `type`, `title` or a front matter field, in alphabetical order."""
        if name in ("tag", "type", "title"):
            column = "unnest(tags)" if name == "tag" else name
            listed = self._each(selection, f"select distinct {column}")
        else:
            listed = self._each(selection, "select distinct pair ->> 1", field=name)
        return sorted({value for rows in listed for (value,) in rows if value is not None})

    def groups(self, field: str, selection: Selection = ALL) -> list[FieldGroup]:
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


def _sorted(counts: Mapping[str | None, int]) -> dict[str, int]:
    """Counts by name, the most frequent first."""
    known = {name: number for name, number in counts.items() if name is not None}
    return dict(sorted(known.items(), key=lambda pair: (-pair[1], pair[0])))
