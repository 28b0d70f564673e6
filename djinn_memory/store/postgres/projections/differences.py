"""Compares the rows that other programs read with what they follow from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from djinn_memory.store.postgres.projections.note_tables import LostName, row_names
from djinn_memory.store.postgres.projections.tables import NOTE_TABLES, NoteRow, NoteTable, Row
from djinn_memory.store.postgres.values import cleaned, comparable, digests

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_LEFT_OUT = frozenset({"properties", "adaptive_score", *(table.vector for table in NOTE_TABLES)})
"""Columns that are not compared: vectors, and what depends on a time or on settings of a home."""

_TIME = 1184
"""The number of the type `timestamptz`."""


def differing_tables(
    tx: Cursor, scope: UUID, note_ids: Sequence[UUID], expected: Iterable[NoteRow]
) -> dict[UUID, list[str]]:
    """The tables in which the rows of notes are not as expected, by note."""
    by_table: dict[NoteTable, list[Row]] = {table: [] for table in NOTE_TABLES}
    for table, row in expected:
        by_table[table].append(cleaned(row))
    differing: dict[UUID, list[str]] = {note: [] for note in note_ids}
    for table, rows in by_table.items():
        columns = _columns(rows)
        wanted = digests((row["note_id"], _values(row, columns)) for row in rows)
        stored = digests(
            (row["note_id"], _values(row, columns))
            for row in _stored(tx, scope, table.name, columns, note_ids)
        )
        for note in note_ids:
            if wanted.get(note) != stored.get(note):
                differing[note].append(table.name)
    return differing


def count_differences(tx: Cursor, scope: UUID, table: str, expected: Sequence[Row]) -> int:
    """The number of rows of a table in a scope that are missing, wrong or too many."""
    columns = _columns(expected)
    wanted = Counter(comparable(_values(cleaned(row), columns)) for row in expected)
    rows = _stored(tx, scope, table, columns)
    stored = Counter(comparable(_values(row, columns)) for row in rows)
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
        f"extract(epoch from {name})::float8" if type_code == _TIME else name
        for name, type_code in described
    ]
    tx.execute(f"select {', '.join(read)} from {table} {where}".encode(), values)
    for row in tx:
        yield dict(zip(columns, row, strict=True))


def _values(row: Row, columns: Sequence[str]) -> list[Any]:
    return [row[name] for name in columns]


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
        row = tx.execute(sql.encode(), {"scope": scope}).fetchone()
        counts[table] = row[0] if row else 0
    return counts


_OUTDATED = {
    "episodic_memories": """
with readings as (
    select data from events where user_id = %(scope)s and kind = 'consolidation.read'
)
select count(*) from episodic_memories as episode where user_id = %(scope)s and (
    access_count <> coalesce((
        select sum(uses.access_count) from memory_scores as uses
        where uses.user_id = %(scope)s and uses.memory_id = episode.djinn_id
    ), 0)
    or consolidated_to_semantic <> coalesce(
        occurred_at <= (select max((data ->> 'until')::timestamptz) from readings)
        or djinn_id in (
            select jsonb_array_elements_text(data -> 'marked') from readings
            where jsonb_typeof(data -> 'marked') = 'array'
        ), false)
)
""",
    "knowledge_relations": """
select count(*) from knowledge_relations as relation where user_id = %(scope)s
    and target_entity_id is distinct from (
        select entity_id from knowledge_entities as entity
        where entity.user_id = %(scope)s and entity.name_keys @> array[relation.target_key]
        order by entity_id limit 1
    )
""",
    "outranked_notes": f"""
with names as ({row_names("where user_id = %(scope)s")})
select count(*) from outranked_notes as lost where user_id = %(scope)s and not exists (
    select from names where names.kind = lost.kind and names.name = lost.name
        and names.note_id <> lost.note_id
)
""",
}
