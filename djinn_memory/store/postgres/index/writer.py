"""Writes the search index of a scope, in the transaction that writes its notes.

A note with another name can change links of unchanged notes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from djinn_memory.notes.link_resolution import LinkTarget, lookup_keys
from djinn_memory.store.postgres.index import postings
from djinn_memory.store.postgres.index.postgres_tables import field_key
from djinn_memory.store.postgres.rows import (
    ChunkRows,
    LinkEndRow,
    LinkRows,
    MemoryRows,
    NoteRows,
    OutgoingLinks,
    WindowRows,
)
from djinn_memory.store.postgres.scopes import take_numbers
from djinn_memory.store.postgres.values import copying, uuid_of, write_rows

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_LINK_COLUMNS = (
    "memory", "number", "target", "heading", "block", "label", "kind", "embed", "field", "line",
    "start", "stop", "how", "target_scope", "target_path", "target_block", "target_is_memory",
    "candidates",
)  # fmt: skip


def link_ends(tx: Cursor, scope: UUID, paths: Sequence[str]) -> set[LinkEndRow]:
    """The ends of the links of a scope that lead to notes at these paths of the same scope."""
    tx.execute(
        "select distinct memory.path, target_path, target_block, target_is_memory, how "
        "from index_links as link join index_memories as memory "
        "on memory.user_id = link.user_id and memory.number = link.memory "
        "where link.user_id = %s and target_path = any(%s) and target_scope = link.user_id",
        (scope, list(paths)),
    )
    return {LinkEndRow(*row) for row in tx}


def indexed_paths(
    tx: Cursor, scope: UUID, column: Literal["path", "note_id"], values: Collection[str | UUID]
) -> set[str]:
    """The paths at which the index of a scope has notes with some values in a column."""
    sql = f"select path from index_memories where user_id = %s and {column} = any(%s)"
    tx.execute(sql.encode(), (scope, list(values)))
    return {path for (path,) in tx}


def replace_links(tx: Cursor, scope: UUID, memories: Sequence[OutgoingLinks]) -> None:
    """Write the links of memories in place of those that they have. Unknown ones are ignored.

    The caller's transaction holds the scope, as `connection.writing` does.
    """
    tx.execute(
        "select path, block, number from index_memories where user_id = %s and path = any(%s)",
        (scope, [memory.path for memory in memories]),
    )
    numbers = {(path, block): number for path, block, number in tx}
    known = [
        (numbers[memory.path, memory.block], memory.links)
        for memory in memories
        if (memory.path, memory.block) in numbers
    ]
    tx.execute(
        "delete from index_links where user_id = %s and memory = any(%s)",
        (scope, [number for number, _ in known]),
    )
    write_rows(tx, scope, "index_links", _LINK_COLUMNS, _link_rows(known))


def _link_rows(memories: Iterable[tuple[int, Sequence[LinkRows]]]) -> Iterator[tuple[object, ...]]:
    """The rows of the links of memories, given by number, with the values of `_LINK_COLUMNS`."""
    for memory, links in memories:
        for at, link in enumerate(links):
            to = link.resolved
            # A vault without a UUID is on no server.
            place = (None, None, None, False)
            if to is not None and uuid_of(to.vault):
                place = (to.vault, to.path, to.block, to.memory)  # type: ignore[assignment]
            yield (
                memory, at, link.target, link.heading, link.block, link.label, link.kind,
                link.embed, link.field, link.line, link.start, link.stop, link.how, *place,
                link.candidates,
            )  # fmt: skip


MANY_NOTES = 500
"""A load of so many notes changes the statistics that the planner needs."""


def replace(tx: Cursor, scope: UUID, rev: int, notes: Sequence[tuple[UUID, NoteRows]]) -> None:
    """Write the rows of these notes, which are in `notes` already, in place of their earlier ones.

    The caller's transaction holds the scope, as `connection.writing` does.
    """
    remove(tx, scope, [note_id for note_id, _ in notes])
    batch = _Batch(tx, scope, rev, notes)
    batch.write()
    postings.merge_segments(tx, scope)


def remove(tx: Cursor, scope: UUID, note_ids: Sequence[UUID]) -> None:
    """Remove all rows of these notes. Notes without rows are ignored.

    Call it before a note is deleted: a cascade would leave its terms counted.
    """
    tx.execute(
        "select terms.domain_set, telling, naming from index_memories as memory "
        "join index_chunks as chunk on chunk.user_id = memory.user_id "
        "and chunk.memory = memory.number "
        "join index_terms as terms on terms.user_id = memory.user_id "
        "and terms.chunk = chunk.number "
        "where memory.user_id = %s and note_id = any(%s)",
        (scope, list(note_ids)),
    )
    gone = [
        postings.counted(number, postings.unstream(telling, naming))
        for number, telling, naming in tx
    ]
    if gone:
        postings.subtract_chunks(tx, scope, gone)
    tx.execute(
        "delete from index_memories where user_id = %s and note_id = any(%s)",
        (scope, list(note_ids)),
    )


def update_statistics(tx: Cursor) -> None:
    """Count the rows of the tables as the planner needs it, as far as this user may.

    Call it after a load, in a transaction of its own. The server does it by itself only after a
    minute or more. Until then it reads whole tables: a search among 5,500 chunks takes it 36 ms of
    processor time instead of 16.
    """
    tx.execute(
        "select relname from pg_class where relnamespace = current_schema()::regnamespace "
        "and relkind in ('r', 'p') and (relname like 'index\\_%' or relname = 'notes') "
        "and pg_has_role(relowner, 'usage') order by 1"
    )
    # Always in one order, because each table stays locked to the end of the transaction.
    if tables := ", ".join(name for (name,) in tx):
        tx.execute(f"analyze {tables}".encode())


class _Domains(Struct):
    """The numbers of the sets of domains of a scope. New ones are written as they are met."""

    tx: Any
    scope: UUID
    known: dict[tuple[str, ...], int]

    def number(self, domains: tuple[str, ...]) -> int:
        if domains not in self.known:
            number = max(self.known.values(), default=-1) + 1
            self.tx.execute(
                "insert into index_domain_sets (user_id, number, domains) values (%s, %s, %s)",
                (self.scope, number, list(domains)),
            )
            self.known[domains] = number
        return self.known[domains]


class NumberedMemory(NamedTuple):
    """A memory with its number on the server. The numbers of its chunks follow."""

    number: int
    domain_set: int
    note_id: UUID
    note: NoteRows
    rows: MemoryRows


class IndexRows:
    """The rows of some memories, table by table, with the values of the columns in `COLUMNS`."""

    def __init__(self, memories: Sequence[NumberedMemory]) -> None:
        self._memories = memories

    def chunks(self) -> Iterator[tuple[int, int, int, ChunkRows]]:
        """Number, memory, set of domains, and chunk."""
        for memory in self._memories:
            for at, chunk in enumerate(memory.rows.chunks, 1):
                yield memory.number + at, memory.number, memory.domain_set, chunk

    def memory_rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of `index_memories`."""
        for number, domain_set, note_id, note, memory in self._memories:
            yield (
                number, note_id, note.path, note.folded, note.name, note.hash, note.modified_ns,
                note.problem, memory.block, memory.uid, memory.type, memory.plane, memory.title,
                memory.name, memory.created, memory.updated, memory.date, memory.dated,
                memory.digest, memory.line, domain_set,
                [tag for tag, _ in memory.tags],
                sorted({key for _, folded in memory.tags for key in _tag_keys(folded)}),
                [alias for alias, _ in memory.aliases],
                [name for _, name in memory.aliases],
                _link_keys(note.path, memory),
                [(key, value) for key, value, _ in memory.fields],
                sorted({field_key(key, folded) for key, _, folded in memory.fields}),
                [folded for key, _, folded in memory.fields if key == "expires"] or None,
                list(memory.blocks), len(memory.chunks),
            )  # fmt: skip

    def chunk_rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of `index_chunks`."""
        for number, memory, _, chunk in self.chunks():
            yield (
                number, memory, chunk.ordinal, chunk.headings, *chunk.lines, chunk.page,
                chunk.parts, chunk.text,
            )  # fmt: skip

    def term_rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of `index_terms`."""
        for number, _, domain_set, chunk in self.chunks():
            yield (
                number,
                domain_set,
                postings.length(chunk.terms),
                postings.stream(chunk.terms, postings.TELLING),
                postings.stream(chunk.terms, postings.NAMING),
            )

    def windows(self) -> Iterator[tuple[tuple[object, ...], WindowRows]]:
        """Rows of `index_windows` without their vectors, each with its window."""
        for number, memory, domain_set, chunk in self.chunks():
            for at, window in enumerate(chunk.windows):
                place = number, at, memory, domain_set
                yield (*place, window.start, window.stop, window.hash, window.length), window

    def sign_rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of `index_token_signs`, of windows whose signs are known here."""
        for (chunk, at, *_), window in self.windows():
            if window.signs is not None:
                yield chunk, at, window.signs

    def link_rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of `index_links`."""
        return _link_rows((memory.number, memory.rows.links) for memory in self._memories)


COLUMNS = {
    "index_memories": (
        "number", "note_id", "path", "folded", "file_name", "hash", "modified_ns", "problem",
        "block", "uid", "type", "plane", "title", "name", "created", "updated", "date", "dated",
        "digest", "lines_above", "domain_set", "tags", "tag_keys", "aliases", "alias_keys",
        "link_keys", "fields", "field_keys", "expires", "blocks", "chunks",
    ),
    "index_chunks": (
        "number", "memory", "ordinal", "headings", "first_line", "last_line", "page", "parts",
        "text",
    ),
    "index_terms": ("chunk", "domain_set", "length", "telling", "naming"),
    "index_windows": (
        "chunk", "number", "memory", "domain_set", "start", "stop", "hash", "length",
    ),
    "index_token_signs": ("chunk", "number", "signs"),
    "index_links": _LINK_COLUMNS,
}  # fmt: skip
"""The columns that `IndexRows` gives values for, in order."""


class _Batch(IndexRows):
    """The rows of some notes, with numbers that are taken for them."""

    def __init__(
        self, tx: Cursor, scope: UUID, rev: int, notes: Sequence[tuple[UUID, NoteRows]]
    ) -> None:
        self._tx, self._scope, self._rev = tx, scope, rev
        memories = [(key, note, memory) for key, note in notes for memory in note.memories]
        sizes = [1 + len(memory.chunks) for *_, memory in memories]
        first = take_numbers(tx, scope, sum(sizes))
        tx.execute("select domains, number from index_domain_sets where user_id = %s", (scope,))
        sets = _Domains(tx, scope, {tuple(domains): number for domains, number in tx})
        numbers = accumulate(sizes, initial=first)
        super().__init__(
            [
                NumberedMemory(number, sets.number(memory.domains), key, note, memory)
                for number, (key, note, memory) in zip(numbers, memories, strict=False)
            ]
        )

    def write(self) -> None:
        """Write all tables."""
        memories = ((*row, self._rev) for row in self.memory_rows())
        columns = (*COLUMNS["index_memories"], "rev")
        write_rows(self._tx, self._scope, "index_memories", columns, memories)
        self._copy("index_chunks", self.chunk_rows())
        self._copy("index_terms", self.term_rows())
        self._write_windows()
        self._copy("index_links", self.link_rows())
        counted = {
            number: postings.counted(domain_set, chunk.terms)
            for number, _, domain_set, chunk in self.chunks()
        }
        if counted:
            postings.add_chunks(self._tx, self._scope, counted)
            self._add_languages()

    def _write_windows(self) -> None:
        # Without text in between. A value of pgvector is passed on in its own binary form.
        types = ["uuid", "int8", "int4", "int8", "int4", "int4", "int4", "bytea", "int4", "bytea"]
        columns = ", ".join(("user_id", *COLUMNS["index_windows"], "vector"))
        with copying(self._tx, "index_windows", columns, types) as copy:
            for row, window in self.windows():
                vector = window.vector and _binary_vector(window.vector)
                copy.write_row((self._scope, *row, vector))
        self._copy("index_token_signs", self.sign_rows())

    def _add_languages(self) -> None:
        """Record the languages whose stemmers made terms."""
        spoken: dict[int, set[str]] = {}
        for *_, domain_set, chunk in self.chunks():
            if chunk.language:
                spoken.setdefault(domain_set, set()).add(chunk.language)
        for number, languages in spoken.items():
            self._tx.execute(
                "update index_domain_sets set languages = array(select distinct unnest("
                "languages || %s::text[]) order by 1) where user_id = %s and number = %s "
                "and not languages @> %s::text[]",
                (sorted(languages), self._scope, number, sorted(languages)),
            )

    def _copy(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        write_rows(self._tx, self._scope, table, COLUMNS[table], rows)


def _binary_vector(vector: bytes) -> bytes:
    """A vector of little-endian float32, in the binary form of pgvector.

    That is two numbers of 2 bytes, then float32, all big-endian.
    """
    import numpy as np

    values = np.frombuffer(vector, "<f4")
    return len(values).to_bytes(2) + bytes(2) + values.astype(">f4").tobytes()


def _link_keys(path: str, memory: MemoryRows) -> list[str]:
    """The names by which links mean a note. Those of a section are the names of its file."""
    stem = PurePosixPath(path).stem
    target = LinkTarget(0, "", path, None, stem, ())
    if memory.block is None:
        aliases = tuple(alias for alias, _ in memory.aliases)
        target = LinkTarget(0, "", path, memory.uid, memory.title or stem, aliases)
    return sorted(lookup_keys(target))


def _tag_keys(folded: str) -> list[str]:
    """A tag and the tags above it: `project/x` and `project:x` belong to `project`."""
    return [folded, *(folded[:at] for at, sign in enumerate(folded) if sign in "/:")]
