"""Compares the rows of notes and events on a server with their sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from djinn_memory.store.postgres import event_tables
from djinn_memory.store.postgres.index import postings
from djinn_memory.store.postgres.index.writer import COLUMNS, IndexRows, NumberedMemory
from djinn_memory.store.postgres.note_tables import (
    NOTE_TABLES,
    TARGET_ENTITY,
    LostName,
    NoteRow,
    NoteTable,
    row_names,
)
from djinn_memory.store.postgres.rows import NoteRows
from djinn_memory.store.postgres.values import Row, cleaned

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_LEFT_OUT = frozenset({"properties", "adaptive_score", *(table.vector for table in NOTE_TABLES)})
"""Columns that are not compared: vectors, and those that depend on a time or a home's settings."""

_READ = {"context_snapshot": event_tables.OWN_CONTEXT}
"""How a column is read of which the note tells only a part."""

_TIME = 1184
"""The number of the type `timestamptz`."""


def differing_rows(
    tx: Cursor, scope: UUID, note_ids: Sequence[UUID], expected: Iterable[NoteRow]
) -> Iterator[tuple[UUID, str]]:
    """Each note with a table for other programs in which its rows are not as expected."""
    by_table: dict[NoteTable, list[Row]] = {table: [] for table in NOTE_TABLES}
    for table, row in expected:
        by_table[table].append(cleaned(row))
    for table, rows in by_table.items():
        columns = _columns(rows)
        stored = _stored(tx, scope, table.name, columns, note_ids)
        wanted, known = (((row["note_id"], row) for row in each) for each in (rows, stored))
        for note_id in _differing(note_ids, wanted, known, itemgetter(*columns)):
            yield note_id, table.name


def count_differences(tx: Cursor, scope: UUID, table: str, expected: Sequence[Row]) -> int:
    """The number of rows of a table in a scope that are missing, wrong or too many."""
    columns = _columns(expected)
    values = itemgetter(*columns)
    wanted = Counter(_comparable(values(cleaned(row))) for row in expected)
    stored = Counter(_comparable(values(row)) for row in _stored(tx, scope, table, columns))
    return max((wanted - stored).total(), (stored - wanted).total())


def _columns(expected: Sequence[Row]) -> list[str]:
    """The columns to compare. Where no row is expected, any row differs."""
    return [name for name in (expected[0] if expected else ("rev",)) if name not in _LEFT_OUT]


def _stored(
    tx: Cursor, scope: UUID, table: str, columns: list[str], note_ids: Sequence[UUID] | None = None
) -> Iterator[Row]:
    """The rows of a scope, or of some notes, in these columns."""
    values: dict[str, Any] = {"scope": scope, "notes": list(note_ids or ())}
    where = "where user_id = %(scope)s"
    if note_ids is not None:
        columns, where = [*columns, "note_id"], f"{where} and note_id = any(%(notes)s)"
    tx.execute(f"select {', '.join(columns)} from {table} {where} limit 0".encode(), values)
    described = [(column.name, column.type_code) for column in tx.description or ()]
    # The driver cannot read infinite times.
    read = [
        f"extract(epoch from {name})::float8" if type_code == _TIME else _READ.get(name, name)
        for name, type_code in described
    ]
    tx.execute(f"select {', '.join(read)} from {table} {where}".encode(), values)
    for row in tx:
        yield dict(zip(columns, row, strict=True))


def lost_names(tx: Cursor, scope: UUID) -> dict[UUID, set[LostName]]:
    """The names that notes lost to other notes."""
    tx.execute("select kind, name, note_id from outranked_notes where user_id = %s", (scope,))
    lost: defaultdict[UUID, set[LostName]] = defaultdict(set)
    for kind, name, note in tx:
        lost[note].add(LostName(kind, name, note))
    return lost


def outdated(tx: Cursor, scope: UUID) -> dict[str, int]:
    """The number of rows by table that contradict other rows of the scope.

    These are episodes with wrong marks, relations with wrong ids of entities, and claims of names
    that no row has.
    """
    counts = {}
    for table, sql in _OUTDATED.items():
        [(counts[table],)] = tx.execute(sql.encode(), {"scope": scope})
    return counts


_OUTDATED = {
    "episodic_memories": f"""
select count(*) from episodic_memories as episode where user_id = %(scope)s and (
    access_count <> {event_tables.USES_OF_EPISODE}
    or episode_type = 'interaction'
        and context_snapshot is distinct from {event_tables.CONTEXT_OF_EPISODE}
    or consolidated_to_semantic <> coalesce({event_tables.READING_OF_EPISODE}, false)
)
""",
    "knowledge_relations": f"""
select count(*) from knowledge_relations as relation
where user_id = %(scope)s and target_entity_id is distinct from {TARGET_ENTITY}
""",
    "outranked_notes": f"""
with names as ({row_names("where user_id = %(scope)s")})
select count(*) from outranked_notes as lost where user_id = %(scope)s and not exists (
    select from names where names.kind = lost.kind and names.name = lost.name
        and names.note_id <> lost.note_id
)
""",
}


_TERMS = 2_000
"""Number of terms whose posting lists are read at once."""

_OF_TARGET = ("how", "target_scope", "target_path", "target_block", "target_is_memory")

_OF_HOME = frozenset({"modified_ns", "updated", "candidates", "signs"})
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


def differing_index(
    tx: Cursor, scope: UUID, notes: Sequence[tuple[UUID, NoteRows]], *, embeds: bool
) -> Iterator[tuple[UUID, str]]:
    """Each note with a table of the search index in which its rows differ.

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
    wrong_domains = set()
    expected: dict[str, list[tuple[UUID, Sequence[Any]]]] = {table: [] for table in _OWNERS}
    for note_id, note in notes:
        numbered = []
        for memory in note.memories:
            number, domain_set, domains = places.get((note_id, memory.block), (-1, -1, None))
            numbered.append(NumberedMemory(number, domain_set, note_id, note, memory))
            if domains is not None and tuple(domains) != memory.domains:
                wrong_domains.add(note_id)
        for table, rows in _rows(IndexRows(numbered)).items():
            expected[table] += [(note_id, cleaned(row)) for row in rows]
    for table in _OWNERS:
        if embeds or table not in _OF_MODEL:
            stored = _stored_index(tx, scope, table, ids, expected[table])
            values = partial(_compared, table, scope)
            for note_id in _differing(ids, expected[table], stored, values):
                yield note_id, table
    for note_id in wrong_domains:
        yield note_id, "index_domain_sets"


def _stored_index(
    tx: Cursor,
    scope: UUID,
    table: str,
    note_ids: Sequence[UUID],
    expected: Iterable[tuple[UUID, Sequence[Any]]],
) -> Sequence[tuple[UUID, Sequence[Any]]]:
    """The rows of notes in a table, each with its note, without signs that this home lacks."""
    columns = ", ".join(f"own.{name}" for name in COLUMNS[table])
    tx.execute(
        f"select memory.note_id, {columns} from {table} as own {_OWNERS[table]} "
        "where own.user_id = %s and memory.note_id = any(%s)".encode(),
        (scope, list(note_ids)),
    )
    rows = [(note_id, values) for note_id, *values in tx]
    if table == _SIGNS:
        windows = {(note_id, *row[:2]) for note_id, row in expected}
        return [(note_id, row) for note_id, row in rows if (note_id, *row[:2]) in windows]
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


def _compared(table: str, scope: UUID, row: Sequence[Any]) -> list[Any]:
    """The values of a row that are compared."""
    names = COLUMNS[table]
    values = {name: value for name, value in zip(names, row, strict=True) if name not in _OF_HOME}
    if not values.get("dated", True):
        # The date is that of the file, which each home has for itself.
        del values["date"]
    if "target_scope" in values and str(values["target_scope"]) != str(scope):
        # Homes with other vaults may find a target there.
        values |= dict.fromkeys(_OF_TARGET)
    return [*values.values()]


def differing_lists(tx: Cursor, scope: UUID) -> dict[str, int]:
    """The number of rows by table that contradict the terms of the chunks.

    Posting lists may name chunks that are gone. The number of chunks in `index_segments`, which
    only says when they are merged, is not compared.
    """
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    # An order-free sum of the entries of each term: lists of all chunks may not fit into memory.
    sums: Counter[str] = Counter()
    numbers: set[int] = set()
    for chunks in postings.counted_chunks(tx, scope):
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
    [(missing,)] = tx.fetchall()
    return int(missing)


S = TypeVar("S")


def _differing(
    note_ids: Iterable[UUID],
    expected: Iterable[tuple[UUID, S]],
    stored: Iterable[tuple[UUID, S]],
    values: Callable[[S], Any],
) -> list[UUID]:
    """The notes whose rows differ in the values that `values` takes of each, in any order.

    Rows are given with their notes.
    """
    sums: list[Counter[UUID]] = [Counter(), Counter()]
    for each, rows in zip(sums, (expected, stored), strict=True):
        for note_id, row in rows:
            each[note_id] += hash(_comparable(values(row)))
    wanted, known = sums
    return [note_id for note_id in note_ids if wanted.get(note_id) != known.get(note_id)]


def _comparable(value: Any) -> str:
    """A text that is equal for equal values, whether they were read from a server or not."""
    if isinstance(value, datetime):
        return repr(value.timestamp())
    if isinstance(value, Mapping):
        return repr(sorted((key, _comparable(inner)) for key, inner in value.items()))
    if isinstance(value, list | tuple):
        return repr([*map(_comparable, value)])
    if isinstance(value, int | float):
        return repr(float(value))
    return str(value)
