"""The SQLite index as searches and verbs read it. `search.backend.Index` documents the methods."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import msgspec
from msgspec import UNSET

from djinn_memory.models import Part, Vault
from djinn_memory.store.index import compartments, memories
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
from djinn_memory.store.index.selection import NEWEST_PLACE, PLACE, Selections
from djinn_memory.store.index.vector_index import SqliteVectorIndex, TokenSigns, no_token_signs
from djinn_memory.store.index.word_index import SqliteWordIndex
from djinn_memory.store.sqlite import peek, rows

BATCH = 500
"""Number of memories read at once."""

_ALL = Selection()

_TEXTS = msgspec.json.Decoder(tuple[str, ...])
_FIELDS = msgspec.json.Decoder(tuple[tuple[str, str], ...])

_FROM = "from memory join note on note.id = note_id"

_ORDERS: dict[Order, str] = {
    "newest": f"memory.date desc, {NEWEST_PLACE}",
    "written": f"ifnull(memory.created, memory.date) desc, note.mtime_ns desc, {NEWEST_PLACE}",
    "title": f"memory.title, {PLACE}",
}

_COLUMNS = {
    "id": "uid",
    "path": "path",
    "type": "type",
    "plane": "plane",
    "title": "title",
    "created": "created",
    "updated": "updated",
    "date": "date",
    "domain": "(select group_concat(value, ', ') from (select value from field "
    "where memory_id = memory.id and key = 'domain' order by rowid))",
    "memory_id": "memory.id",
    "hash": "lower(hex(iif(block is null, hash, memory.digest)))",
    "problem": "problem",
    "first_chunk": "(select min(id) from chunk where memory_id = memory.id)",
}
"""The fields of an `IndexedMemory` that come from a single column."""

# A memory for everybody keeps its id whatever memories of some agents hold, so that nobody is shown
# a trace of what is hidden, and each agent sees one owner.
_OWNS_ID = """uid is not null and not exists (
    select 1 from memory as other join note as place on place.id = other.note_id
    join json_each(?3) as theirs on theirs.key = other.compartment_id
    join json_each(?3) as its on its.key = memory.compartment_id
    where other.uid = memory.uid and other.id <> memory.id
    and (theirs.value is null and its.value is not null or theirs.value is its.value
        and (coalesce(other.created, 'z'), place.mtime_ns, place.path)
            < (coalesce(memory.created, 'z'), note.mtime_ns, note.path)))"""

_MEMORY = f"""
select vault_id, compartment_id, block, dated, {_OWNS_ID},
    (select json_group_array(tag) from
        (select tag from tag where memory_id = memory.id order by folded)),
    (select json_group_array(alias) from
        (select alias from alias where memory_id = memory.id order by alias)),
    (select json_group_array(json_array(key, value)) from
        (select key, value from field where memory_id = memory.id
        and (?2 is null or key in (select value from json_each(?2))) order by rowid)),
    {", ".join(_COLUMNS.values())}
{_FROM} where memory.id in (select value from json_each(?1))
"""


class SqliteIndex:
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
        self._numbered = memories.vault_ids(connection, vaults)
        known = [msgspec.structs.replace(vault, reader=None) for vault in every or vaults]
        self._readers = json.dumps(
            {
                part.number: _readers(part.vault.agent, part.excluded)
                for part in compartments.readable(connection, known)
            }
        )
        self._roots = {key: vault.root.resolve() for key, vault in self._numbered.items()}
        self._selections = Selections(connection, self._numbered, every)
        self.words = SqliteWordIndex(connection, self._selections)
        self.vectors = SqliteVectorIndex(connection, self._selections, token_signs)

    @property
    def vaults(self) -> tuple[Vault, ...]:
        """The vaults of this view that the index contains."""
        return tuple(self._numbered.values())

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, IndexedChunk]:
        """The chunks with these row numbers."""
        return {chunk.chunk_id: chunk for chunk in self._chunks("id in", chunk_ids)}

    def chunks_of(
        self, memory_ids: Collection[int], first: int | None = None
    ) -> dict[int, list[IndexedChunk]]:
        """The chunks of each memory in order; with `first` only that many of each."""
        chunks: dict[int, list[IndexedChunk]] = {}
        limit = "" if first is None else f"ordinal < {first} and "
        for chunk in self._chunks(f"{limit}memory_id in", memory_ids):
            chunks.setdefault(chunk.memory_id, []).append(chunk)
        return chunks

    def texts(self, chunk_ids: Collection[int]) -> Iterator[ChunkText]:
        """The texts of chunks in the order of `chunk_ids`, with titles and dates."""
        listed = rows(
            self._connection,
            "select chunk.id, memory_id, ordinal, first_line, last_line, text, title, date "
            "from json_each(?) as wanted cross join chunk on chunk.id = value "
            "cross join memory on memory.id = memory_id order by wanted.key",
            (json.dumps(list(chunk_ids)),),
        )
        for key, memory, ordinal, first, last, text, title, date in listed:
            yield ChunkText(key, memory, ordinal, (first, last), text, title, date)

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
        where = self._selections.where(selection)
        listed = rows(
            self._connection,
            f"select memory.id {_FROM} where {where.sql} "
            f"order by {_ORDERS[order]} limit ? offset ?",
            (*where.values, -1 if limit is None else limit, skip),
        )
        ids = [key for (key,) in listed]
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            known = self.lookup(batch, fields=fields)
            yield from (known[key] for key in batch)

    def lookup(
        self, memory_ids: Collection[int], *, fields: Collection[str] | None = None
    ) -> dict[int, IndexedMemory]:
        """Memories by number. `fields` are the front matter keys to load; None loads all."""
        wanted = None if fields is None else json.dumps(list(fields))
        keys = json.dumps(list(memory_ids)), wanted, self._readers
        listed = rows(self._connection, _MEMORY, keys)
        loaded = {}
        readable = set(self._selections.compartments)
        for vault, compartment, block, dated, owns_id, tags, aliases, values, *row in listed:
            if compartment in readable:
                memory = IndexedMemory(
                    vault=self._numbered[vault].name,
                    file=f"{self._roots[vault]}/{row[1]}",
                    block=UNSET if block is None else block,
                    dated=bool(dated),
                    owns_id=bool(owns_id),
                    tags=_TEXTS.decode(tags),
                    aliases=_TEXTS.decode(aliases),
                    fields=_FIELDS.decode(values),
                    **dict(zip(_COLUMNS, row, strict=True)),
                )
                loaded[memory.memory_id] = memory
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
        where = self._selections.where(selection)
        sql = (
            "select uid, vault_id, path, block, type, date, (select substr(text, 1, ?) from chunk "
            "where memory_id = memory.id and ordinal = 0), (select "
            "json_group_array(json_array(key, value)) from (select key, value from field where "
            "memory_id = memory.id and key in (select value from json_each(?)) order by rowid)) "
            f"{_FROM} where {where.sql} order by {_ORDERS['newest']} limit ?"
        )
        bound = (characters, json.dumps(list(fields)), *where.values, limit)
        for uid, vault, path, block, kind, date, text, values in self._connection.execute(
            sql, bound
        ):
            name = self._numbered[vault].name
            loaded = _FIELDS.decode(values)
            yield MemoryOpening(uid, name, path, block, kind, date, text or "", loaded)

    def count(self, selection: Selection = _ALL) -> int:
        """The number of memories in a selection."""
        where = self._selections.where(selection)
        sql = f"select count(*) {_FROM} where {where.sql}"
        return int(self._connection.execute(sql, where.values).get)

    def titles(self, selection: Selection = _ALL) -> list[TitledRef]:
        """The location and title of each memory of a selection, sorted by path."""
        where = self._selections.where(selection)
        sql = f"select uid, vault_id, path, block, title {_FROM} where {where.sql} order by {PLACE}"
        return [
            TitledRef(
                id=uid,
                vault=self._numbered[vault].name,
                path=path,
                block=UNSET if block is None else block,
                title=title,
            )
            for uid, vault, path, block, title in rows(self._connection, sql, where.values)
        ]

    def names(self, selection: Selection = _ALL) -> list[MemoryNames]:
        """The memories of a selection with all their names, sorted by path."""
        where = self._selections.where(selection)
        sql = (
            "select memory.id, uid, vault_id, path, block, type, title, (select json_group_array("
            "alias) from (select alias from alias where memory_id = memory.id order by alias)) "
            f"{_FROM} where {where.sql} order by {PLACE}"
        )
        return [
            MemoryNames(
                memory_id=memory_id,
                id=uid,
                vault=self._numbered[vault].name,
                path=path,
                file=f"{self._roots[vault]}/{path}",
                block=UNSET if block is None else block,
                type=kind,
                title=title,
                aliases=_TEXTS.decode(aliases),
            )
            for memory_id, uid, vault, path, block, kind, title, aliases in rows(
                self._connection, sql, where.values
            )
        ]

    def resolve(self, name: str) -> list[IndexedMemory]:
        """The memories that a name could mean: one, none, or several that share the name.

        A name is an id, a path, `vault/path`, `vault:path`, or any link target: a title, an alias,
        a file name. `vault:path` is never ambiguous. A suffix of `#^` and a block id names a
        section of a journal.
        """
        from djinn_memory.store.index.names import resolve

        keys = resolve(self._connection, name, self.vaults)
        return sorted(self.lookup(keys).values(), key=lambda memory: memory.address)

    def named(self, names: Collection[str], selection: Selection = _ALL) -> dict[str, str]:
        """The titles of memories of a selection that have one of these names, by name.

        A name is a title or an alias in the form of `name_key`. Of several memories with one name
        the first title in alphabetical order counts.
        """
        where = self._selections.where(selection)
        keys = json.dumps(list(names))
        listed = rows(
            self._connection,
            "with wanted as (select value from json_each(?)), named as ("
            "select value, memory.id as number from wanted cross join memory on name = value "
            "union select value, memory_id from wanted cross join alias on name = value) "
            "select value, min(title) from named cross join memory on memory.id = number "
            f"join note on note.id = note_id where {where.sql} group by value",
            (keys, *where.values),
        )
        return dict(listed)

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to these memories, without links from or to hidden vaults."""
        ids = json.dumps(list(memory_ids))
        these = "(select value from json_each(?))"
        listed = rows(
            self._connection,
            "select memory_id, target_memory_id, target, line, start, field, embed, how, "
            "candidates, heading, link.block, kind, link.id, source.compartment_id, "
            "other.vault_id from link join memory as source on source.id = link.memory_id "
            "left join note as other on other.id = target_note_id "
            f"where memory_id in {these} or target_memory_id in {these} "
            "or link.id in (select value from json_each(?))",
            (ids, ids, json.dumps(list(self._selections.seen_targets))),
        )
        readable = set(self._selections.compartments)
        wanted = set(memory_ids)
        seen_links = []
        for source, target, text, line, start, field, embed, how, candidates, *more in listed:
            *parts, key, compartment, vault = more
            ambiguous = bool(candidates)
            if compartment not in readable or not (vault is None or vault in self._numbered):
                continue
            if seen := self._selections.seen_targets.get(key):
                target, how, ambiguous = seen.memory_id, seen.how, seen.ambiguous
                if source not in wanted and target not in wanted:
                    continue
            seen_links.append(
                IndexedLink(
                    source, target, text, line, start, field, bool(embed), how, ambiguous, *parts
                )
            )
        return seen_links

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        """The links in texts of other memories to these, without links from hidden vaults."""
        seen_targets = self._selections.seen_targets
        listed = rows(
            self._connection,
            "select link.id, target_memory_id, memory_id, target, line, "
            "(select id from chunk where chunk.memory_id = link.memory_id "
            "and link.line between first_line and last_line order by ordinal limit 1), date "
            "from link join memory as source on source.id = link.memory_id where field is null "
            "and (target_memory_id in (select value from json_each(?1)) "
            "or link.id in (select value from json_each(?2))) "
            "and compartment_id in (select value from json_each(?3)) "
            "order by memory_id, line, start",
            tuple(
                json.dumps(list(numbers))
                for numbers in (memory_ids, seen_targets, self._selections.compartments)
            ),
        )
        wanted = set(memory_ids)
        backlinks = []
        for link_id, target, source, *place in listed:
            if seen := seen_targets.get(link_id):
                target = seen.memory_id
            if target in wanted and target != source:
                backlinks.append(Backlink(target, source, *place))
        return backlinks

    def counts(self, selection: Selection = _ALL) -> CatalogStats:
        """Counts of notes, chunks, windows and links in a selection."""
        where = self._selections.where(selection)
        base = f"{_FROM} where {where.sql}"
        chunk = f"from chunk where memory_id in (select memory.id {base})"
        window = f"from window where chunk_id in (select id {chunk})"
        link = f"from link where memory_id in (select memory.id {base})"

        def count(sql: str) -> int:
            return int(self._connection.execute(f"select count(*) {sql}", where.values).get)

        def group(column: str, source: str = base, counted: str = "*") -> dict[str, int]:
            sql = f"select {column}, count({counted}) {source} group by 1 order by 2 desc, 1"
            listed = rows(self._connection, sql, where.values)
            return {key: number for key, number in listed if key is not None}

        by_vault = group("note.vault_id", counted="distinct note.id")
        return CatalogStats(
            notes=sum(by_vault.values()),
            memories=count(base),
            chunks=count(chunk),
            windows=count(window),
            pending=count(f"{window} and not embedded"),
            links=count(link),
            unresolved=count(f"{link} and how is null") + self._unresolved_of(base, where.values),
            broken=count(f"{base} and problem is not null"),
            types=group("type"),
            planes=group("plane"),
            tags=group("tag", f"from tag where memory_id in (select memory.id {base})"),
            vaults={self._numbered[int(key)].name: number for key, number in by_vault.items()},
        )

    def sizes(self, memory_ids: Collection[int]) -> dict[int, MemorySize]:
        """The number of chunks of each memory, and of its windows that are not embedded yet."""
        sql = """
            select memory_id, count(distinct chunk.id), count(window.id) filter (where not embedded)
            from chunk left join window on chunk_id = chunk.id
            where memory_id in (select value from json_each(?)) group by memory_id
        """
        listed = rows(self._connection, sql, (json.dumps(list(memory_ids)),))
        return {key: MemorySize(chunks, waiting) for key, chunks, waiting in listed}

    def values(self, name: str, selection: Selection = _ALL) -> list[str]:
        """All values of `tag`, `type`, `title` or a front matter field, in alphabetical order."""
        where = self._selections.where(selection)
        column, joined = name, ""
        bound: tuple[str, ...] = ()
        if name == "tag":
            joined = "join tag on tag.memory_id = memory.id"
        elif name not in ("type", "title"):
            column, bound = "value", (name,)
            joined = "join field on field.memory_id = memory.id and field.key = ?"
        sql = (
            f"select distinct {column} {_FROM} {joined} "
            f"where {where.sql} and {column} is not null order by 1"
        )
        return [value for (value,) in rows(self._connection, sql, (*bound, *where.values))]

    def groups(self, field: str, selection: Selection = _ALL) -> list[FieldGroup]:
        """The memories of a selection by the value of a field, ignoring case, newest group last."""
        where = self._selections.where(selection)
        listed = rows(
            self._connection,
            f"select min(value), count(*), min(memory.date), max(memory.date) {_FROM} "
            "join field on field.memory_id = memory.id and field.key = ? "
            f"where {where.sql} group by field.folded order by 4, 1",
            (field, *where.values),
        )
        return [FieldGroup(*row) for row in listed]

    def _unresolved_of(self, base: str, bound: Sequence[object]) -> int:
        """The number of links in a selection that are resolved, but not for the reader."""
        unresolved = [
            key for key, seen in self._selections.seen_targets.items() if seen.how is None
        ]
        if not unresolved:
            return 0
        return int(
            self._connection.execute(
                "select count(*) from link where id in (select value from json_each(?)) "
                f"and memory_id in (select memory.id {base})",
                (json.dumps(unresolved), *bound),
            ).get
        )

    def _chunks(self, which: str, ids: Collection[int]) -> Iterator[IndexedChunk]:
        listed = rows(
            self._connection,
            "select id, memory_id, ordinal, headings, first_line, last_line, page, parts, text "
            f"from chunk where {which} (select value from json_each(?)) "
            "order by memory_id, ordinal",
            (json.dumps(list(ids)),),
        )
        for key, memory, ordinal, headings, first, last, page, parts, text in listed:
            yield IndexedChunk(
                key,
                memory,
                ordinal,
                tuple(msgspec.json.decode(headings)),
                (first, last),
                page,
                tuple(Part(*part) for part in msgspec.json.decode(parts or "[]")),
                text,
            )


def _readers(agent: str | None, excluded: str) -> str | None:
    """Who reads a compartment, as a text to compare; None for everybody."""
    return f"{agent or ''} but {excluded}" if agent or excluded else None


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
