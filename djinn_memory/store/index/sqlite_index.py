"""The index in SQLite as searches and verbs read it; `search.backend.Index` says what each does."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
from msgspec import UNSET

from djinn_memory.models import Filters, Part, Vault
from djinn_memory.store.index import memories, vectors
from djinn_memory.store.index.records import (
    ChunkRef,
    IndexCounts,
    IndexedChunk,
    IndexedLink,
    IndexedMemory,
    Measurement,
    MemorySize,
    Order,
    Selection,
    TitledRef,
    WordMatch,
)
from djinn_memory.store.index.selection import Condition, condition
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.index.words import SqliteVocabulary, bm25, ranked
from djinn_memory.store.sqlite import Row, peek, rows

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

ROUNDING = 1e-6
"""Cosines of float32 vectors that are no further apart are equal."""

BATCH = 500
"""Memories that are read at once."""

_ALL = Selection()

_FROM = "from memory join note on note.id = note_id"

_ORDERS: dict[Order, str] = {
    "newest": "memory.date desc, note.path",
    "written": "ifnull(memory.created, memory.date) desc, memory.id desc",
    "title": "memory.title, note.path",
}

_MEMORY = f"""
select memory.id, uid, vault_id, path, block, type, plane, title, created, updated, date, dated,
    lower(hex(iif(block is null, hash, memory.digest))), problem,
    (select min(id) from chunk where memory_id = memory.id),
    uid is not null and not exists (
        select 1 from memory as other join note as place on place.id = other.note_id
        where other.uid = memory.uid and other.id <> memory.id
        and (coalesce(other.created, 'z'), place.mtime_ns, place.path)
            < (coalesce(memory.created, 'z'), note.mtime_ns, note.path))
{_FROM} where memory.id in (select value from json_each(?))
"""


class SqliteIndex:
    """Reads one state of the index, and of it only `vaults`: open it by `State.reading`."""

    def __init__(self, connection: apsw.Connection, vaults: Sequence[Vault]) -> None:
        self._connection = connection
        self._numbered = memories.vault_ids(connection, vaults)
        self._numbers = {vault.name: key for key, vault in self._numbered.items()}
        self._expired: dict[datetime, tuple[str, ...]] = {}

    @property
    def vaults(self) -> tuple[Vault, ...]:
        """The vaults that are read, of those that the index knows."""
        return tuple(self._numbered.values())

    @cached_property
    def vocabulary(self) -> SqliteVocabulary:
        """The words of the index."""
        return SqliteVocabulary(self._connection)

    @cached_property
    def space(self) -> VectorSpace | None:
        """The vectors that answer; None while nothing was embedded."""
        return vectors.serving(self._connection)

    def words(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        """Chunks that hold words, best first by BM25, with at most `per_memory` of a memory."""
        where = self._where(selection, chunks=True)
        return ranked(self._connection, match, where.sql, where.values, limit, per_memory)

    def score_words(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        """BM25 of those of the chunks that hold any of the words."""
        return bm25(self._connection, match, chunk_ids)

    def nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> list[ChunkRef]:
        """The chunks of the `limit` nearest windows of each vault.

        Each vault is asked by itself, so that a large one cannot crowd out a small one. Where a few
        long memories fill the answer, more is asked for, until there are enough `memories`.
        """
        space = self.space
        if space is None:
            return []
        where = None if self._selects_all(selection) else self._where(selection, chunks=True)
        restrict = (where.sql, where.values) if where else None
        names = selection.filters.vaults or self._numbers
        near: list[ChunkRef] = []
        for vault in [self._numbers[name] for name in names if name in self._numbers]:
            depth = limit
            while True:
                windows = vectors.nearest(
                    self._connection, space, vector.tobytes(), vault, depth, restrict=restrict
                )
                chunks = self._chunks_of_windows(windows)
                enough = len({chunk.memory_id for chunk in chunks}) >= memories
                if enough or len(windows) < depth or depth >= vectors.MAX_NEIGHBOURS:
                    break
                depth = min(4 * depth, vectors.MAX_NEIGHBOURS)
            near += chunks
        return near

    def measure(self, vector: Vectors, chunk_ids: Collection[int]) -> dict[int, Measurement]:
        """The exact cosine of those of the chunks that have a vector: that of their best window."""
        import numpy as np

        if self.space is None:
            return {}
        windows = vectors.embedded_windows(self._connection, self.space, chunk_ids)
        if not windows:
            return {}
        matrix = np.frombuffer(b"".join(each.vector for each in windows), dtype="<f4")
        matrix = matrix.reshape(len(windows), -1)
        best: dict[int, Measurement] = {}
        # In order, and apart by more than BLAS rounds: of equal windows the first is always chosen.
        for window, cosine, row in zip(windows, (matrix @ vector).tolist(), matrix, strict=True):
            known = best.get(window.chunk_id)
            if known is None or cosine > known.cosine + ROUNDING:
                best[window.chunk_id] = Measurement(cosine, window.span, row)
        return best

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, IndexedChunk]:
        """Chunks by their numbers."""
        return {chunk.chunk_id: chunk for chunk in self._chunks("id in", chunk_ids)}

    def chunks_of(
        self, memory_ids: Collection[int], first: int | None = None
    ) -> dict[int, list[IndexedChunk]]:
        """The chunks of each memory in their order; with `first` only so many of each."""
        chunks: dict[int, list[IndexedChunk]] = {}
        limit = "" if first is None else f"ordinal < {first} and "
        for chunk in self._chunks(f"{limit}memory_id in", memory_ids):
            chunks.setdefault(chunk.memory_id, []).append(chunk)
        return chunks

    def memories(
        self,
        selection: Selection = _ALL,
        *,
        order: Order = "newest",
        limit: int | None = None,
        skip: int = 0,
        fields: Collection[str] | None = None,
    ) -> Iterator[IndexedMemory]:
        """Memories of a selection, read as they are asked for; `fields` are those to load."""
        where = self._where(selection)
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

    def newest(self, selection: Selection, limit: int) -> list[ChunkRef]:
        """The first chunks of the newest memories of a selection."""
        where = self._where(selection)
        listed = rows(
            self._connection,
            "select chunk.id, memory.id from chunk join memory on memory.id = memory_id "
            f"join note on note.id = note_id where ordinal = 0 and {where.sql} "
            f"order by {_ORDERS['newest']} limit ?",
            (*where.values, limit),
        )
        return [ChunkRef(chunk, memory) for chunk, memory in listed]

    def lookup(
        self, memory_ids: Collection[int], *, fields: Collection[str] | None = None
    ) -> dict[int, IndexedMemory]:
        """Memories by their numbers; `fields` are the front matter keys to load, None loads all."""
        ids = json.dumps(list(memory_ids))
        which = "memory_id in (select value from json_each(?))"
        tags = self._of_memories(
            f"select memory_id, tag from tag where {which} order by folded", ids
        )
        aliases = self._of_memories(
            f"select memory_id, alias from alias where {which} order by alias", ids
        )
        only = "" if fields is None else f" and key in ({', '.join('?' * len(fields))})"
        values = self._of_memories(
            f"select memory_id, key, value from field where {which}{only}", ids, *(fields or ())
        )
        loaded = {}
        for row in rows(self._connection, _MEMORY, (ids,)):
            key, uid, vault, path, block, kind, plane, title, created, updated, date, *rest = row
            if vault not in self._numbered:
                continue
            dated, digest, problem, chunk, owns_id = rest
            loaded[key] = IndexedMemory(
                id=uid,
                vault=self._numbered[vault].name,
                path=path,
                block=UNSET if block is None else block,
                type=kind,
                plane=plane,
                title=title,
                tags=tuple(tag for (tag,) in tags.get(key, ())),
                created=created,
                updated=updated,
                date=date,
                memory_id=key,
                dated=bool(dated),
                hash=digest,
                owns_id=bool(owns_id),
                first_chunk=chunk,
                problem=problem,
                aliases=tuple(alias for (alias,) in aliases.get(key, ())),
                fields=tuple((name, value) for name, value in values.get(key, ())),
            )
        return loaded

    def titles(self, selection: Selection = _ALL) -> list[TitledRef]:
        """Where each memory of a selection is, and its title, by path."""
        where = self._where(selection)
        sql = f"select uid, vault_id, path, block, title {_FROM} where {where.sql} order by path"
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

    def resolve(self, name: str) -> list[IndexedMemory]:
        """The memories that a name could mean: one, none, or several that share the name.

        A name is an id, a path, `vault/path`, `vault:path`, which is never ambiguous, or whatever
        a link may say: a title, an alias, a file name. `#^` and a block id behind it mean a section
        of a journal.
        """
        from djinn_memory.store.index.names import resolve

        keys = resolve(self._connection, name, self.vaults)
        known = self.lookup(keys)
        return [known[key] for key in keys if key in known]

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        """The links from and to some memories; none that leads into or out of a hidden vault."""
        ids = json.dumps(list(memory_ids))
        these = "(select value from json_each(?))"
        listed = rows(
            self._connection,
            "select memory_id, target_memory_id, target, line, start, field, embed, how, "
            "candidates, source.vault_id, other.vault_id from link "
            "join note as source on source.id = link.note_id "
            "left join note as other on other.id = target_note_id "
            f"where memory_id in {these} or target_memory_id in {these}",
            (ids, ids),
        )
        return [
            IndexedLink(
                source, target, text, line, start, field, bool(embed), how, bool(candidates)
            )
            for source, target, text, line, start, field, embed, how, candidates, *vaults in listed
            if all(vault is None or vault in self._numbered for vault in vaults)
        ]

    def counts(self, selection: Selection = _ALL) -> IndexCounts:
        """How much a selection holds."""
        where = self._where(selection)
        base = f"{_FROM} where {where.sql}"
        chunk = f"from chunk where memory_id in (select memory.id {base})"
        window = f"from window where chunk_id in (select id {chunk})"
        link = f"from link where memory_id in (select memory.id {base})"

        def count(sql: str) -> int:
            return int(self._connection.execute(f"select count(*) {sql}", where.values).get)

        def group(column: str, source: str = base) -> dict[str, int]:
            sql = f"select {column}, count(*) {source} group by 1 order by 2 desc, 1"
            listed = rows(self._connection, sql, where.values)
            return {key: number for key, number in listed if key is not None}

        return IndexCounts(
            memories=count(base),
            chunks=count(chunk),
            windows=count(window),
            waiting=count(f"{window} and not embedded"),
            links=count(link),
            unresolved=count(f"{link} and how is null"),
            problems=count(f"{base} and problem is not null"),
            types=group("type"),
            planes=group("plane"),
            tags=group("tag", f"from tag where memory_id in (select memory.id {base})"),
            vaults={
                self._numbered[int(key)].name: number
                for key, number in group("note.vault_id").items()
            },
        )

    def sizes(self, memory_ids: Collection[int]) -> dict[int, MemorySize]:
        """How many chunks each memory has, and how many of its windows wait for a vector."""
        sql = """
            select memory_id, count(distinct chunk.id), count(window.id) filter (where not embedded)
            from chunk left join window on chunk_id = chunk.id
            where memory_id in (select value from json_each(?)) group by memory_id
        """
        listed = rows(self._connection, sql, (json.dumps(list(memory_ids)),))
        return {key: MemorySize(chunks, waiting) for key, chunks, waiting in listed}

    def values(self, name: str, selection: Selection = _ALL) -> list[str]:
        """All values of `tag`, `type`, `title` or a front matter field, in alphabetical order."""
        where = self._where(selection)
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

    def waiting(self) -> int:
        """How many windows wait for a vector."""
        return vectors.pending(self._connection, self._numbered)

    def texts_with(self, stem: str, limit: int) -> list[str]:
        """Titles and texts of some chunks with a word that the index keeps under a stem."""
        where = self._where(_ALL)
        listed = rows(
            self._connection,
            "select memory.title || ' ' || text from words join chunk on chunk.id = words.rowid "
            "join memory on memory.id = memory_id join note on note.id = note_id "
            f"where words match ? and {where.sql} limit ?",
            (f'"{stem}"*', *where.values, limit),
        )
        return [text for (text,) in listed]

    def _where(self, selection: Selection, *, chunks: bool = False) -> Condition:
        """The selection of memories, or of `chunks`, in SQL."""
        expired = self._expired_by(selection.now)
        return condition(selection, self._numbers, expired, chunks=chunks)

    def _expired_by(self, now: datetime | None) -> tuple[str, ...]:
        """The values of `expires` that are over; a day holds until it ends, in UTC."""
        if now is None:
            return ()
        if now not in self._expired:
            from djinn_memory.notes.dates import over

            # Comparing in SQL would need rules of its own for what is a date.
            listed = rows(
                self._connection, "select distinct folded from field where key = 'expires'"
            )
            self._expired[now] = tuple(text for (text,) in listed if over(text.upper(), now))
        return self._expired[now]

    def _selects_all(self, selection: Selection) -> bool:
        plain = Selection(Filters(vaults=selection.filters.vaults), now=selection.now)
        return selection == plain and not self._expired_by(selection.now)

    def _chunks_of_windows(self, windows: Sequence[int]) -> list[ChunkRef]:
        listed = rows(
            self._connection,
            "select distinct chunk_id, memory_id from window join chunk on chunk.id = chunk_id "
            "where window.id in (select value from json_each(?))",
            (json.dumps(windows),),
        )
        return [ChunkRef(chunk, memory) for chunk, memory in listed]

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
                tuple(json.loads(headings)),
                (first, last),
                page,
                tuple(Part(*part) for part in json.loads(parts or "[]")),
                text,
            )

    def _of_memories(self, sql: str, *values: object) -> dict[int, list[Row]]:
        listed: dict[int, list[Row]] = {}
        for memory, *row in rows(self._connection, sql, values):
            listed.setdefault(memory, []).append(tuple(row))
        return listed


@contextmanager
def peeking(path: Path, vaults: Sequence[Vault]) -> Iterator[SqliteIndex]:
    """The index at `path` as it is, for a moment's reading that makes no file beside it."""
    with closing(peek(path)) as connection:
        yield SqliteIndex(connection, vaults)
