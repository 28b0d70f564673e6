"""Marks on the rows of episodes that follow from events: uses, and whether they were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor, ScopeWriter


def mark_episodes(tx: Cursor, scope: UUID, names: Sequence[str] | None = None) -> None:
    """Set what the events say of episodes: how often they were used, and whether they were read.

    Without names all episodes of the scope are marked. `consolidation.read` names the time until
    which the episodes were read, and the younger ones that a person had marked.
    """
    count_uses(tx, scope, names)
    where, values = _named(scope, names)
    tx.execute(_READ.format(where=where).encode(), values)


def count_uses(tx: Cursor, scope: UUID, names: Sequence[str] | None = None) -> None:
    """Set how often episodes were used."""
    where, values = _named(scope, names)
    tx.execute(_USES.format(where=where).encode(), values)


def mark_newly_read(writer: ScopeWriter) -> None:
    """Mark the episodes that consolidations have read whose events this transaction wrote."""
    writer.tx.execute(_NEWLY_READ, {"scope": writer.scope, "rev": writer.rev})


def _named(scope: UUID, names: Sequence[str] | None) -> tuple[str, dict[str, Any]]:
    """A condition for the episodes with some names, with its values."""
    where = "" if names is None else "and djinn_id = any(%(names)s)"
    return where, {"scope": scope, "names": list(names or ())}


_NUMBER = (
    "(select coalesce(sum(uses.access_count), 0)::int from memory_scores as uses "
    "where uses.user_id = %(scope)s and uses.memory_id = episode.djinn_id)"
)

_USES = (
    f"update episodic_memories as episode set access_count = {_NUMBER} "
    f"where user_id = %(scope)s {{where}} and access_count <> {_NUMBER}"
)

_OF_READING = "user_id = %(scope)s and kind = 'consolidation.read'"

# All times have one form, so that the greatest text is the last time.
_READ = f"""
update episodic_memories as episode set consolidated_to_semantic = true
where user_id = %(scope)s {{where}} and not consolidated_to_semantic
    and (
        occurred_at <= (
            select (data ->> 'until')::timestamptz from events
            where {_OF_READING} and data ->> 'until' is not null
            order by (data ->> 'until') collate "C" desc limit 1
        )
        or exists (
            select from events as reading
            where reading.{_OF_READING} and jsonb_typeof(data -> 'marked') = 'array'
                and data -> 'marked' ? episode.djinn_id
        )
    )
"""

_NEWLY_READ = f"""
with readings as (
    select data from events where {_OF_READING} and rev = %(rev)s
)
update episodic_memories set consolidated_to_semantic = true
where user_id = %(scope)s and not consolidated_to_semantic
    and (
        occurred_at <= (select max((data ->> 'until')::timestamptz) from readings)
        or djinn_id in (
            select jsonb_array_elements_text(data -> 'marked') from readings
            where jsonb_typeof(data -> 'marked') = 'array'
        )
    )
"""
