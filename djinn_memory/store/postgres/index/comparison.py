"""Compares the search index of a server with what it follows from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from djinn_memory.store.postgres.index import postings, segments
from djinn_memory.store.postgres.index.writer import COLUMNS, IndexRows, NumberedMemory
from djinn_memory.store.postgres.rows import NoteRows
from djinn_memory.store.postgres.values import Digests, cleaned, digests

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_TERMS = 2_000
"""Number of terms whose posting lists are read at once."""

_OF_TARGET = ("how", "target_scope", "target_path", "target_block", "target_is_memory")

_LEFT_OUT = frozenset({"modified_ns", "updated", "candidates", "signs"})
"""Columns that depend on a home: times of files, vaults that only some homes have, and signs."""

_SIGNS = "index_token_signs"

_THROUGH_CHUNK = (
    "join index_chunks as chunk on chunk.user_id = own.user_id and chunk.number = own.chunk "
    "join index_memories as memory on memory.user_id = own.user_id "
    "and memory.number = chunk.memory"
)
_THROUGH_MEMORY = (
    "join index_memories as memory on memory.user_id = own.user_id and memory.number = own.memory"
)
_OWNERS = {
    "index_memories": (
        "join index_memories as memory on memory.user_id = own.user_id "
        "and memory.number = own.number"
    ),
    "index_chunks": _THROUGH_MEMORY,
    "index_terms": _THROUGH_CHUNK,
    "index_windows": _THROUGH_MEMORY,
    _SIGNS: _THROUGH_CHUNK,
    "index_links": _THROUGH_MEMORY,
}
"""How the rows of each table are joined with those of their memories."""

_OF_MODEL = frozenset({"index_windows", _SIGNS})
"""The tables that a home without an embedding model cannot compare."""


def differing_tables(
    tx: Cursor, scope: UUID, notes: Sequence[tuple[UUID, NoteRows]], *, embeds: bool
) -> dict[UUID, list[str]]:
    """The tables in which the rows of notes differ, by note.

    `embeds` tells whether the home has the server's model. Vectors and token signs themselves are
    not compared, because they differ slightly between machines; a window may only lack its signs.
    """
    ids = [note_id for note_id, _ in notes]
    tx.execute(
        "select note_id, block, memory.number, domain_set, domains from index_memories as memory "
        "join index_domain_sets as own on own.user_id = memory.user_id "
        "and own.number = memory.domain_set "
        "where memory.user_id = %s and note_id = any(%s)",
        (scope, ids),
    )
    places = {(note, block): (number, own, domains) for note, block, number, own, domains in tx}
    differing: dict[UUID, list[str]] = {note_id: [] for note_id in ids}
    wrong_domains = set()
    expected: dict[str, dict[UUID, list[Sequence[Any]]]] = {table: {} for table in _OWNERS}
    for note_id, note in notes:
        numbered = []
        for memory in note.memories:
            number, domain_set, domains = places.get((note_id, memory.block), (-1, -1, None))
            numbered.append(NumberedMemory(number, domain_set, note_id, note, memory))
            if domains is not None and tuple(domains) != memory.domains:
                wrong_domains.add(note_id)
        for table, rows in _rows(IndexRows(numbered)).items():
            expected[table][note_id] = [cleaned(row) for row in rows]
    for table in _OWNERS:
        if embeds or table not in _OF_MODEL:
            wanted = _digests(table, scope, expected[table])
            stored = _digests(table, scope, _stored(tx, scope, table, ids, expected[table]))
            for note_id in ids:
                if wanted.get(note_id) != stored.get(note_id):
                    differing[note_id].append(table)
    for note_id in wrong_domains:
        differing[note_id].append("index_domain_sets")
    return differing


def _stored(
    tx: Cursor,
    scope: UUID,
    table: str,
    note_ids: Sequence[UUID],
    expected: Mapping[UUID, Sequence[Sequence[Any]]],
) -> Mapping[UUID, list[Sequence[Any]]]:
    """The rows of notes in a table, by note, without signs that this home lacks."""
    columns = ", ".join(f"own.{name}" for name in COLUMNS[table])
    tx.execute(
        f"select memory.note_id, {columns} from {table} as own {_OWNERS[table]} "
        "where own.user_id = %s and memory.note_id = any(%s)".encode(),
        (scope, list(note_ids)),
    )
    rows: defaultdict[UUID, list[Sequence[Any]]] = defaultdict(list)
    for note_id, *values in tx:
        rows[note_id].append(values)
    if table == _SIGNS:
        for note_id, listed in rows.items():
            windows = {(chunk, number) for chunk, number, _ in expected.get(note_id, ())}
            rows[note_id] = [row for row in listed if (row[0], row[1]) in windows]
    return rows


def _rows(rows: IndexRows) -> dict[str, Iterator[Sequence[Any]]]:
    return {
        "index_memories": rows.memory_rows(),
        "index_chunks": rows.chunk_rows(),
        "index_terms": rows.term_rows(),
        "index_windows": (row for row, _ in rows.windows()),
        _SIGNS: rows.sign_rows(),
        "index_links": rows.link_rows(),
    }


def _digests(table: str, scope: UUID, rows: Mapping[UUID, Iterable[Sequence[Any]]]) -> Digests:
    return digests(
        (note_id, _compared(table, scope, row))
        for note_id, listed in rows.items()
        for row in listed
    )


def _compared(table: str, scope: UUID, row: Sequence[Any]) -> Sequence[Any]:
    """The values of a row that are compared."""
    names = COLUMNS[table]
    values = {name: value for name, value in zip(names, row, strict=True) if name not in _LEFT_OUT}
    if not values.get("dated", True):
        # The date is that of the file, which each home has for itself.
        del values["date"]
    if "target_scope" in values and str(values["target_scope"]) != str(scope):
        # Homes with other vaults may find a target there.
        values |= dict.fromkeys(_OF_TARGET)
    return [*values.values()]


def differing_lists(tx: Cursor, scope: UUID) -> dict[str, int]:
    """The number of rows by table that are not what the terms of the chunks say.

    Posting lists may name chunks that are gone. The number of chunks in `index_segments`, which
    only says when they are merged, is not compared.
    """
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    # An order-free sum of the entries of each term: lists of all chunks may not fit into memory.
    sums: Counter[str] = Counter()
    numbers: set[int] = set()
    for chunks in segments.counted_chunks(tx, scope):
        numbers |= chunks.keys()
        for domain_set, length, weights in chunks.values():
            counts.update((term, domain_set) for term in weights)
            sizes[domain_set] += 1
            lengths[domain_set] += length
        for term, entries in postings.grouped(chunks).items():
            sums[term] += _sum(bytes(entries), numbers)
    tx.execute("select number, chunks, length from index_domain_sets where user_id = %s", (scope,))
    sets = sum((sizes[number], lengths[number]) != (size, length) for number, size, length in tx)
    tx.execute("select term, domain_set, chunks from index_counts where user_id = %s", (scope,))
    stored = {(term, number): chunks for term, number, chunks in tx if chunks}
    return {
        "index_domain_sets": sets,
        "index_counts": sum(
            counts[key] != stored.get(key, 0) for key in counts.keys() | stored.keys()
        ),
        "index_postings": _wrong_lists(tx, scope, sums, numbers),
        "index_segments": _missing_segments(tx, scope),
    }


def _wrong_lists(tx: Cursor, scope: UUID, sums: Counter[str], numbers: set[int]) -> int:
    """The number of terms whose lists do not have exactly the entries of their chunks."""
    wrong, known = 0, set[str]()
    last: str | None = None
    while True:
        tx.execute(
            "select term, string_agg(entries, ''::bytea) from index_postings "
            "where user_id = %(scope)s and term in (select distinct term from index_postings "
            "where user_id = %(scope)s and (%(last)s::text is null or term > %(last)s) "
            "order by term limit %(limit)s) group by term",
            {"scope": scope, "last": last, "limit": _TERMS},
        )
        lists = tx.fetchall()
        if not lists:
            return wrong + len({term for term, total in sums.items() if total} - known)
        for term, entries in lists:
            known.add(term)
            wrong += _sum(bytes(entries), numbers) != sums[term]
        last = max(term for term, _ in lists)


def _sum(entries: bytes, numbers: set[int]) -> int:
    """A number for the entries of chunks that are there, the same in any order."""
    total = 0
    for start in range(0, len(entries), postings.SIZE):
        entry = entries[start : start + postings.SIZE]
        if int.from_bytes(entry[:4], "little") in numbers:
            total += hash(entry)
    return total


def _missing_segments(tx: Cursor, scope: UUID) -> int:
    tx.execute(
        "select count(*) from (select segment from index_postings where user_id = %(scope)s "
        "except select segment from index_segments where user_id = %(scope)s) as missing",
        {"scope": scope},
    )
    row = tx.fetchone()
    return row[0] if row else 0
