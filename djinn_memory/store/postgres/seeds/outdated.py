"""Finds rows that no longer follow from the other rows of their scope."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.store.postgres.seeds.seed_rows import KEYS, NOTE_TABLES

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


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


_OF_SCOPE = "where user_id = %(scope)s"

_ALL_NAMES = " union all ".join(
    (
        "select 'fact' as kind, category || '/' || key as name, note_id from memory_facts "
        + _OF_SCOPE,
        f"select 'summary', '', note_id from memory_summary {_OF_SCOPE}",
        *(f"select 'id', djinn_id, note_id from {NOTE_TABLES[kind]} {_OF_SCOPE}" for kind in KEYS),
    )
)
"""The names that rows of a scope have, as `projections.LostName` has them, each with its note."""

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
with names as ({_ALL_NAMES})
select count(*) from outranked_notes as lost where user_id = %(scope)s and not exists (
    select from names where names.kind = lost.kind and names.name = lost.name
        and names.note_id <> lost.note_id
)
""",
}
