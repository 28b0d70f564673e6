"""Writes the rows that other programs read, in the transaction that writes their notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID

from djinn_memory.store.postgres.bulk import copying
from djinn_memory.store.postgres.seeds.episode_marks import mark_episodes
from djinn_memory.store.postgres.seeds.seed_rows import (
    JSON_COLUMNS,
    KEYS,
    NOTE_TABLES,
    EpisodicMemoryRow,
    KnowledgeEntityRow,
    MemoryFactRow,
    MemorySummaryRow,
    SeedRow,
    SemanticCorrelationRow,
)
from djinn_memory.store.postgres.values import clean, json_value, vector_text

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor, ScopeWriter

NoteSeeds = tuple[UUID, Sequence[SeedRow]]
"""The id of a note, and the rows that follow from it."""


class LostName(NamedTuple):
    """A name that one row of a scope has, and another note that would give its row the name."""

    kind: Literal["fact", "summary", "id"]
    name: str
    note: UUID


def remove(tx: Cursor, scope: UUID, note_ids: Collection[UUID]) -> set[UUID]:
    """Remove the rows that follow from notes. The caller's transaction has the scope's lock.

    Returns the other notes that lost a name to these rows, which are to be written again.
    """
    notes = list(note_ids)
    tx.execute(
        "select distinct note_id from outranked_notes "
        "where user_id = %(scope)s and not note_id = any(%(notes)s) "
        f"and (kind, name) in ({_NAMES})".encode(),
        {"scope": scope, "notes": notes},
    )
    waiting = {note for (note,) in tx.fetchall()}
    names = _entity_names(tx, scope, notes)
    for table in ("outranked_notes", *reversed(NOTE_TABLES.values())):
        sql = f"delete from {table} where user_id = %s and note_id = any(%s)"
        tx.execute(sql.encode(), (scope, notes))
    if names:
        _resolve(tx, scope, names)
    return waiting


_OF_NOTES = "where user_id = %(scope)s and note_id = any(%(notes)s)"

_NAMES = " union all ".join(
    (
        f"select 'fact', category || '/' || key from memory_facts {_OF_NOTES}",
        f"select 'summary', '' from memory_summary {_OF_NOTES}",
        *(f"select 'id', djinn_id from {NOTE_TABLES[kind]} {_OF_NOTES}" for kind in KEYS),
    )
)
"""The names that the rows of notes have, as `LostName` has them."""


def settle(tx: Cursor, scope: UUID, written: Collection[UUID], missing: Collection[UUID]) -> None:
    """Record which notes have all their rows now, and of which they are still to be written."""
    tx.execute(
        "update notes set pending = note_id = any(%(missing)s) where user_id = %(scope)s "
        "and (note_id = any(%(missing)s) or pending and note_id = any(%(written)s))",
        {"scope": scope, "written": list(written), "missing": list(missing)},
    )


def taken(tx: Cursor, scope: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Those of these ids of memories that rows have already."""
    known: set[UUID] = set()
    for kind, column in KEYS.items():
        sql = f"select {column} from {NOTE_TABLES[kind]} where user_id = %s and {column} = any(%s)"
        known |= {key for (key,) in tx.execute(sql.encode(), (scope, [*ids]))}
    return known


def insert(
    tx: Cursor, scope: UUID, rev: int, notes: Iterable[NoteSeeds], lost: Iterable[LostName] = ()
) -> None:
    """Write the rows of notes that have none yet. `lost` are the ids that other notes have."""
    by_table: dict[type[SeedRow], list[tuple[UUID, SeedRow]]] = {}
    for note, rows in notes:
        for row in rows:
            by_table.setdefault(type(row), []).append((note, row))
    outranked = [*lost]
    by_table[MemoryFactRow] = _winning_facts(tx, scope, by_table.get(MemoryFactRow, []), outranked)
    by_table[MemorySummaryRow] = _newest_summary(
        tx, scope, by_table.get(MemorySummaryRow, []), outranked
    )
    for kind, table in NOTE_TABLES.items():
        if listed := by_table.get(kind):
            _copy(tx, table, scope, rev, kind, listed)
    if outranked:
        tx.executemany(
            "insert into outranked_notes (user_id, kind, name, note_id) values (%s, %s, %s, %s) "
            "on conflict do nothing",
            [(scope, *claim._replace(name=clean(claim.name))) for claim in outranked],
        )
    own = (row for _, row in by_table.get(EpisodicMemoryRow, ()))
    if episodes := [row.djinn_id for row in own if isinstance(row, EpisodicMemoryRow)]:
        mark_episodes(tx, scope, episodes)
    if entities := [note for note, _ in by_table.get(KnowledgeEntityRow, ())]:
        _resolve(tx, scope, _entity_names(tx, scope, entities), entities)


def replace_correlations(
    writer: ScopeWriter, correlations: Sequence[SemanticCorrelationRow]
) -> None:
    """Write the correlations of a scope instead of the earlier ones."""
    names = SemanticCorrelationRow.__struct_fields__
    columns = ", ".join(("user_id", *names, "rev"))
    writer.tx.execute("delete from semantic_correlations where user_id = %s", (writer.scope,))
    with copying(writer.tx, "semantic_correlations", columns) as copy:
        for row in correlations:
            values = (plain(name, getattr(row, name)) for name in names)
            copy.write_row((writer.scope, *values, writer.rev))


def resolve_relations(tx: Cursor, scope: UUID) -> None:
    """Find the entities that the relations of a scope name.

    A name of several means the first by its id.
    """
    tx.execute(_RESOLVE.format(where="").encode(), {"scope": scope})


def _resolve(tx: Cursor, scope: UUID, names: Sequence[str], notes: Sequence[UUID] = ()) -> None:
    """As `resolve_relations`, for the relations that use some names or follow from some notes."""
    where = "and (target_key = any(%(names)s) or note_id = any(%(notes)s))"
    values = {"scope": scope, "names": [*names], "notes": [*notes]}
    tx.execute(_RESOLVE.format(where=where).encode(), values)


def _entity_names(tx: Cursor, scope: UUID, notes: Sequence[UUID]) -> list[str]:
    """The names, as they are compared, of the entities in some notes."""
    tx.execute(
        "select distinct unnest(name_keys) from knowledge_entities "
        "where user_id = %s and note_id = any(%s)",
        (scope, [*notes]),
    )
    return [name for (name,) in tx]


_TARGET = (
    # Not by `limit 1`: the entities of the scope would be read in the order of their ids.
    "(select (array_agg(entity_id order by entity_id))[1] from knowledge_entities as entity "
    "where entity.user_id = %(scope)s and entity.name_keys @> array[relation.target_key])"
)

_RESOLVE = (
    f"update knowledge_relations as relation set target_entity_id = {_TARGET} "
    f"where user_id = %(scope)s {{where}} and target_entity_id is distinct from {_TARGET}"
)


def _winning_facts(
    tx: Cursor,
    scope: UUID,
    listed: Sequence[tuple[UUID, SeedRow]],
    outranked: list[LostName],
) -> list[tuple[UUID, SeedRow]]:
    """The facts to write. Of two notes with one category and key, the last one changed counts.

    The others are added to `outranked`.
    """
    facts = [(note, row) for note, row in listed if isinstance(row, MemoryFactRow)]
    if not facts:
        return []
    best: dict[tuple[str, str], tuple[UUID, MemoryFactRow]] = {}
    for note, row in sorted(facts, key=lambda each: _rank(*each)):
        name = clean(row.category), clean(row.key)
        if name in best:
            outranked.append(_fact_claim(*name, best[name][0]))
        best[name] = note, row
    categories, keys = zip(*best, strict=True)
    for category, key, note, updated in tx.execute(
        "select category, key, note_id, updated_at from memory_facts "
        "join unnest(%s::varchar[], %s::varchar[]) as wanted (category, key) "
        "using (category, key) where user_id = %s",
        (list(categories), list(keys), scope),
    ).fetchall():
        if (_time(updated), str(note)) > _rank(*best[category, key]):
            outranked.append(_fact_claim(category, key, best.pop((category, key))[0]))
        else:
            outranked.append(_fact_claim(category, key, note))
            tx.execute(
                "delete from memory_facts where user_id = %s and category = %s and key = %s",
                (scope, category, key),
            )
    return [*best.values()]


def _fact_claim(category: str, key: str, note: UUID) -> LostName:
    return LostName("fact", f"{category}/{key}", note)


def _newest_summary(
    tx: Cursor,
    scope: UUID,
    listed: Sequence[tuple[UUID, SeedRow]],
    outranked: list[LostName],
) -> list[tuple[UUID, SeedRow]]:
    """The summary to write: the last one changed. The others are added to `outranked`."""
    summaries = [(note, row) for note, row in listed if isinstance(row, MemorySummaryRow)]
    if not summaries:
        return []
    *others, newest = sorted(summaries, key=lambda each: _rank(*each))
    outranked += [LostName("summary", "", note) for note, _ in others]
    before = tx.execute(
        "select updated_at, note_id from memory_summary where user_id = %s", (scope,)
    ).fetchone()
    if before and (_time(before[0]), str(before[1])) > _rank(*newest):
        outranked.append(LostName("summary", "", newest[0]))
        return []
    if before:
        outranked.append(LostName("summary", "", before[1]))
        tx.execute("delete from memory_summary where user_id = %s", (scope,))
    return [newest]


def _rank(note: UUID, row: MemoryFactRow | MemorySummaryRow) -> tuple[float, str]:
    return _time(row.updated_at), str(note)


def _time(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0


def _copy(
    tx: Cursor,
    table: str,
    scope: UUID,
    rev: int,
    kind: type[SeedRow],
    listed: Sequence[tuple[UUID, SeedRow]],
) -> None:
    names = kind.__struct_fields__
    columns = ", ".join(("user_id", *names, "note_id", "rev"))
    with copying(tx, table, columns) as copy:
        for note, row in listed:
            values = (plain(name, getattr(row, name)) for name in names)
            copy.write_row((scope, *values, note, rev))


def plain(column: str, value: Any) -> Any:
    """A value in the form in which a COPY takes it for a column."""
    if value is None or isinstance(value, int | float | UUID | datetime):
        return value
    if isinstance(value, str):
        return clean(value)
    if column in JSON_COLUMNS:
        return json_value(value)
    if isinstance(value, list):
        return [clean(each) if isinstance(each, str) else each for each in value]
    return vector_text(value)
