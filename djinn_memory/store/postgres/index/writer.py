"""Writes the search index of a scope, in the transaction that writes its notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from msgspec import Struct

from djinn_memory.notes.link_resolution import LinkTarget, lookup_keys
from djinn_memory.store.postgres.bulk import copying
from djinn_memory.store.postgres.index import link_writer, vectors
from djinn_memory.store.postgres.index.cleaning import clean, cleaned_json, copy_rows
from djinn_memory.store.postgres.index.scopes import NEAR
from djinn_memory.store.postgres.index.terms import postings
from djinn_memory.store.postgres.index.terms.postings import CountedChunk
from djinn_memory.store.postgres.rows import ChunkRows, MemoryRows, NoteRows

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

MAX_SEGMENTS = 32
"""A search reads each term in each segment. With more of them the smaller ones are merged."""

MERGED_SEGMENTS = 24

MAX_GONE = 1_000
"""Chunks that are gone, and stay in posting lists, beyond the number of those that are there."""

EXACT_WINDOWS = 20_000
"""Up to this number of windows of a scope, reading all their vectors takes about 10 ms."""

NEAR_OPTIONS = "with (m = 24, ef_construction = 128)"
"""Of the ten nearest among 200,000 windows .994 are found; with pgvector's own options .92. The
index is as large, and takes three times as long to make."""

SEGMENT_CHUNKS = 20_000
"""Chunks that are read at once when the posting lists are written again."""


def replace(tx: Cursor, scope: UUID, rev: int, notes: Sequence[tuple[UUID, NoteRows]]) -> None:
    """Write the rows of these notes, which are in `notes` already, in place of their earlier ones.

    The caller's transaction holds the scope, as `connection.writing` does.
    """
    remove(tx, scope, [note_id for note_id, _ in notes])
    batch = _Batch(tx, scope, rev, notes)
    batch.write()
    _merge(tx, scope)


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
        _count(tx, scope, gone, -1)
    tx.execute(
        "delete from index_memories where user_id = %s and note_id = any(%s)",
        (scope, list(note_ids)),
    )


def needs_vector_index(tx: Cursor, scope: UUID) -> bool:
    """Whether a scope has enough vectors for an HNSW index, has none, and this user may make it."""
    tx.execute(
        "select to_regclass(%s) is null and pg_has_role(relowner, 'usage') from pg_class "
        "where oid = 'index_windows'::regclass",
        (near_index(scope),),
    )
    if tx.fetchone() != (True,):
        return False
    tx.execute(
        "select count(*) from (select from index_windows where user_id = %s and vector is not null "
        "limit %s) as windows",
        (scope, EXACT_WINDOWS),
    )
    return tx.fetchone() == (EXACT_WINDOWS,)


def index_vectors(tx: Cursor, scope: UUID) -> None:
    """Make the HNSW index of a scope's vectors.

    Call it after the first load: an index that exists makes a load slow.
    """
    tx.execute("select dimensions from server")
    row = tx.fetchone()
    assert row
    # Another home may be making it.
    tx.execute("select pg_advisory_xact_lock(%s)", (scope.int & 0x7FFFFFFFFFFFFFFF,))
    # An index that does not fit into memory while it is made takes many times as long.
    tx.execute("set local maintenance_work_mem = '512MB'")
    # Names and the conditions of an index take no parameters; a scope is a UUID, which is safe.
    tx.execute(
        f"create index if not exists {near_index(scope)} on index_windows using hnsw "
        f"((vector::halfvec({row[0]:d})) halfvec_cosine_ops) {NEAR_OPTIONS} "
        f"where user_id = '{scope}'".encode()
    )


def near_index(scope: UUID) -> str:
    """The name of the HNSW index of a scope."""
    return f"{NEAR}{scope.hex}"


def compact(tx: Cursor, scope: UUID) -> None:
    """Write the posting lists of a scope again, without chunks that are gone."""
    tx.execute("delete from index_postings where user_id = %s", (scope,))
    tx.execute("delete from index_segments where user_id = %s", (scope,))
    last = -1
    while True:
        tx.execute(
            "select chunk, domain_set, telling, naming from index_terms "
            "where user_id = %s and chunk > %s order by chunk limit %s",
            (scope, last, SEGMENT_CHUNKS),
        )
        chunks = {
            chunk: postings.counted(number, postings.unstream(telling, naming))
            for chunk, number, telling, naming in tx
        }
        if not chunks:
            return
        last = max(chunks)
        _write_postings(tx, scope, chunks)


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


class _Batch:
    """The rows of some notes, with their numbers."""

    def __init__(
        self, tx: Cursor, scope: UUID, rev: int, notes: Sequence[tuple[UUID, NoteRows]]
    ) -> None:
        self._tx, self._scope, self._rev = tx, scope, rev
        memories = [(key, note, memory) for key, note in notes for memory in note.memories]
        sizes = [1 + len(memory.chunks) for *_, memory in memories]
        first = _take_numbers(tx, scope, sum(sizes))
        tx.execute("select domains, number from index_domain_sets where user_id = %s", (scope,))
        sets = _Domains(tx, scope, {tuple(domains): number for domains, number in tx})
        numbers = accumulate(sizes, initial=first)
        self._memories = [
            (number, sets.number(memory.domains), key, note, memory)
            for number, (key, note, memory) in zip(numbers, memories, strict=False)
        ]

    def write(self) -> None:
        """Write all tables."""
        self._copy("index_memories", _MEMORY_COLUMNS, self._memory_rows())
        self._copy("index_chunks", _CHUNK_COLUMNS, self._chunk_rows())
        terms = {
            number: (domain_set, chunk.terms) for number, _, domain_set, chunk in self._chunks()
        }
        self._copy(
            "index_terms",
            "chunk, domain_set, length, telling, naming",
            (
                (
                    number,
                    domain_set,
                    postings.length(words),
                    clean(postings.stream(words, postings.TELLING)),
                    clean(postings.stream(words, postings.NAMING)),
                )
                for number, (domain_set, words) in terms.items()
            ),
        )
        self._write_windows()
        link_writer.insert(
            self._tx,
            self._scope,
            ((number, memory.links) for number, *_, memory in self._memories),
        )
        if terms:
            counted = {number: postings.counted(*pair) for number, pair in terms.items()}
            _count(self._tx, self._scope, counted.values(), 1)
            _write_postings(self._tx, self._scope, counted)
            self._add_languages()

    def _chunks(self) -> Iterator[tuple[int, int, int, ChunkRows]]:
        """Number, memory, set of domains, and chunk."""
        for memory_number, domain_set, _, _, memory in self._memories:
            for at, chunk in enumerate(memory.chunks, 1):
                yield memory_number + at, memory_number, domain_set, chunk

    def _memory_rows(self) -> Iterator[tuple[object, ...]]:
        for number, domain_set, note_id, note, memory in self._memories:
            yield (
                number, note_id, note.path, note.folded, note.name, note.hash, note.modified_ns,
                note.problem, memory.block, memory.uid, memory.type, memory.plane, memory.title,
                memory.name, memory.created, memory.updated, memory.date, memory.dated,
                memory.digest, memory.line, domain_set,
                [tag for tag, _ in memory.tags],
                sorted({key for _, folded in memory.tags for key in tag_keys(folded)}),
                [alias for alias, _ in memory.aliases],
                [name for _, name in memory.aliases],
                _link_keys(note.path, memory),
                cleaned_json([(key, value) for key, value, _ in memory.fields]),
                sorted({field_key(key, folded) for key, _, folded in memory.fields}),
                [folded for key, _, folded in memory.fields if key == "expires"] or None,
                list(memory.blocks), len(memory.chunks), self._rev,
            )  # fmt: skip

    def _chunk_rows(self) -> Iterator[tuple[object, ...]]:
        for number, memory, _, chunk in self._chunks():
            yield (
                number, memory, chunk.ordinal, cleaned_json(chunk.headings), *chunk.lines,
                chunk.page, cleaned_json(chunk.parts), chunk.text,
            )  # fmt: skip

    def _write_windows(self) -> None:

        windows = [
            (chunk_number, at, memory, domain_set, window)
            for chunk_number, memory, domain_set, chunk in self._chunks()
            for at, window in enumerate(chunk.windows)
        ]
        # Without text in between. A value of pgvector is passed on in its own binary form.
        types = ["uuid", "int8", "int4", "int8", "int4", "int4", "int4", "bytea", "int4", "bytea"]
        columns = "user_id, chunk, number, memory, domain_set, start, stop, hash, length, vector"
        with copying(self._tx, "index_windows", columns, types) as copy:
            for *place, window in windows:
                copy.write_row(
                    (self._scope, *place, window.start, window.stop, window.hash, window.length,
                     window.vector and vectors.binary(window.vector))
                )  # fmt: skip
        self._copy(
            "index_token_signs",
            "chunk, number, signs",
            (
                (chunk, at, window.signs)
                for chunk, at, _, _, window in windows
                if window.signs is not None
            ),
        )

    def _add_languages(self) -> None:
        """Record the languages whose stemmers made terms."""
        spoken: dict[int, set[str]] = {}
        for *_, domain_set, chunk in self._chunks():
            if chunk.language:
                spoken.setdefault(domain_set, set()).add(chunk.language)
        for number, languages in spoken.items():
            self._tx.execute(
                "update index_domain_sets set languages = array(select distinct unnest("
                "languages || %s::text[]) order by 1) where user_id = %s and number = %s "
                "and not languages @> %s::text[]",
                (sorted(languages), self._scope, number, sorted(languages)),
            )

    def _copy(self, table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
        copy_rows(self._tx, table, self._scope, columns, rows)


_MEMORY_COLUMNS = (
    "number, note_id, path, folded, file_name, hash, modified_ns, problem, block, uid, type, "
    "plane, title, name, created, updated, date, dated, digest, lines_above, domain_set, tags, "
    "tag_keys, aliases, alias_keys, link_keys, fields, field_keys, expires, blocks, chunks, rev"
)
_CHUNK_COLUMNS = "number, memory, ordinal, headings, first_line, last_line, page, parts, text"


def _link_keys(path: str, memory: MemoryRows) -> list[str]:
    """The names by which links mean a note. Those of a section are the names of its file."""
    stem = PurePosixPath(path).stem
    target = LinkTarget(0, "", path, None, stem, ())
    if memory.block is None:
        aliases = tuple(alias for alias, _ in memory.aliases)
        target = LinkTarget(0, "", path, memory.uid, memory.title or stem, aliases)
    return sorted(lookup_keys(target))


def tag_keys(folded: str) -> list[str]:
    """A tag and the tags above it: `project/x` and `project:x` belong to `project`."""
    return [folded, *(folded[:at] for at, sign in enumerate(folded) if sign in "/:")]


def field_key(key: str, value: str) -> str:
    """A field as filters compare it."""
    return f"{key}={value}"


def _take_numbers(tx: Cursor, scope: UUID, count: int) -> int:
    """Reserve numbers of a scope; returns the first of them."""
    tx.execute(
        "update scopes set next_number = next_number + %s where user_id = %s "
        "returning next_number - %s",
        (count, scope, count),
    )
    row = tx.fetchone()
    assert row
    first: int = row[0]
    return first


def _count(tx: Cursor, scope: UUID, chunks: Iterable[CountedChunk], sign: int) -> None:
    """Add chunks to the counts, or with -1 subtract them."""
    holding: Counter[tuple[str, int]] = Counter()
    numbers: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for domain_set, length, weights in chunks:
        numbers[domain_set] += sign
        lengths[domain_set] += sign * length
        for term in weights:
            holding[term, domain_set] += sign
    # In one order, as locks are taken.
    changes = sorted(holding.items())
    terms = [term for (term, _), _ in changes]
    tx.execute(
        "insert into index_counts (user_id, term, domain_set, chunks) "
        "select %s, * from unnest(%s::text[], %s::int[], %s::int[]) "
        "on conflict (user_id, term, domain_set) do update "
        "set chunks = index_counts.chunks + excluded.chunks",
        (
            scope,
            terms,
            [number for (_, number), _ in changes],
            [count for _, count in changes],
        ),
    )
    if sign < 0:
        # No list is left of a term that no chunk has: it may be a word of a purged text.
        tx.execute(
            "with gone as (delete from index_counts where user_id = %s and term = any(%s) "
            "and chunks <= 0 returning term) "
            "delete from index_postings where user_id = %s and term in (select term from gone "
            "except select term from index_counts where user_id = %s and term = any(%s) "
            "and chunks > 0)",
            (scope, terms, scope, scope, terms),
        )
    for number, count in numbers.items():
        tx.execute(
            "update index_domain_sets set chunks = chunks + %s, length = length + %s "
            "where user_id = %s and number = %s",
            (count, lengths[number], scope, number),
        )


def _write_postings(tx: Cursor, scope: UUID, chunks: Mapping[int, CountedChunk]) -> None:
    """Write the posting lists of some chunks as a segment."""
    segment = min(chunks)
    with copying(tx, "index_postings", "user_id, term, segment, entries") as copy:
        for term, entries in sorted(postings.grouped(chunks).items()):
            copy.write_row((scope, term, segment, bytes(entries)))
    _add_segment(tx, scope, segment, len(chunks))


def _merge(tx: Cursor, scope: UUID) -> None:
    """Merge the smaller segments if there are many, or all if many of their chunks are gone."""
    tx.execute(
        "select segment, chunks from index_segments where user_id = %s order by chunks", (scope,)
    )
    segments = tx.fetchall()
    tx.execute(
        "select coalesce(sum(chunks), 0) from index_domain_sets where user_id = %s", (scope,)
    )
    row = tx.fetchone()
    held = int(row[0]) if row else 0
    if sum(chunks for _, chunks in segments) > 2 * held + MAX_GONE:
        compact(tx, scope)
    elif len(segments) > MAX_SEGMENTS:
        small = segments[:MERGED_SEGMENTS]
        merged, number = [segment for segment, _ in small], _take_numbers(tx, scope, 1)
        tx.execute(
            "with merged as (delete from index_postings where user_id = %s and segment = any(%s) "
            "returning term, segment, entries) "
            "insert into index_postings (user_id, term, segment, entries) "
            "select %s, term, %s, string_agg(entries, ''::bytea order by segment) "
            "from merged group by term",
            (scope, merged, scope, number),
        )
        tx.execute(
            "delete from index_segments where user_id = %s and segment = any(%s)", (scope, merged)
        )
        _add_segment(tx, scope, number, sum(chunks for _, chunks in small))


def _add_segment(tx: Cursor, scope: UUID, segment: int, chunks: int) -> None:
    tx.execute(
        "insert into index_segments (user_id, segment, chunks) values (%s, %s, %s)",
        (scope, segment, chunks),
    )
