"""The tables on a server that follow from events: uses, ratings, gaps, and sessions that were read.

The rules are those of the local ledger. What new events change is derived again from all events
about the same memories and gaps, so that the order in which homes push does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger.affected import GAPS, USES, AffectedKeys, affected
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.derived import DerivedTables, derived_tables
from djinn_memory.store.postgres import events as stored_events
from djinn_memory.store.postgres.bulk import copying
from djinn_memory.store.postgres.seeds.projections import mark_episodes
from djinn_memory.store.postgres.seeds.seed_rows import RATING_TABLES
from djinn_memory.store.postgres.values import clean

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import ScopeWriter

CONSOLIDATED = "consolidation.read"
EXTRACTED = "extraction.read"
"""Kinds of events: episodes were read for patterns, and a session was read for facts."""

_FLAGS = frozenset({"used", "useful"})
"""Columns whose numbers in SQLite are truth values."""


def follow(writer: ScopeWriter, events: Sequence[StoredEvent], config: ScoringConfig) -> None:
    """Update the tables after events were written or changed, in the same transaction."""
    keys = affected(events)
    with derived_tables([*_related(writer, keys), *events], config) as tables:
        _replace(writer, keys, tables)
    _note_sessions(writer, events)
    if any(stored.event.kind == CONSOLIDATED for stored in events):
        mark_episodes(writer.tx, writer.scope)
    elif names := {memory for _, memory in keys.memories}:
        mark_episodes(writer.tx, writer.scope, sorted(names))


def _related(writer: ScopeWriter, keys: AffectedKeys) -> Iterator[StoredEvent]:
    """The events on the server about the same memories and gaps."""
    tx, scope = writer.tx, writer.scope
    yield from stored_events.of_subjects(tx, scope, GAPS, sorted(keys.gaps))
    if not keys.memories:
        return
    agents, memories = keys.pairs
    yield from stored_events.of_subjects(tx, scope, USES, sorted({*memories}))
    shown = tx.execute(
        "select distinct split_part(id, '/', 1) from memory_retrieval_log "
        "join unnest(%s::text[], %s::text[]) as wanted (agent_id, memory_id) "
        "using (agent_id, memory_id) where user_id = %s",
        (agents, memories, scope),
    ).fetchall()
    yield from stored_events.by_ids(tx, scope, [key for (key,) in shown])


def _replace(writer: ScopeWriter, keys: AffectedKeys, tables: DerivedTables) -> None:
    tx, scope = writer.tx, writer.scope
    agents, memories = keys.pairs
    for table, column in RATING_TABLES.items():
        listed = [row for row in tables.rows(table) if keys.include(column, row)]
        if column == "memory_id" and keys.memories:
            sql = (
                f"delete from {table} using unnest(%s::text[], %s::text[]) "
                f"as gone (agent_id, memory_id) where user_id = %s "
                f"and {table}.agent_id = gone.agent_id and {table}.memory_id = gone.memory_id"
            )
            tx.execute(sql.encode(), (agents, memories, scope))
        if column == "memory_id" and keys.requests and table == "memory_retrieval_log":
            tx.execute(
                "delete from memory_retrieval_log "
                "where user_id = %s and memory_id = '' and request_id = any(%s)",
                (scope, [*keys.requests]),
            )
        if column == "id":
            sql = f"delete from {table} where user_id = %s and id = any(%s)"
            tx.execute(sql.encode(), (scope, [*keys.gaps]))
        if listed:
            _copy(writer, table, listed)


def _copy(writer: ScopeWriter, table: str, listed: Sequence[dict[str, Any]]) -> None:
    names = [*listed[0]]
    columns = ", ".join(("user_id", *names, "rev"))
    with copying(writer.tx, table, columns) as copy:
        for row in listed:
            values = (_value(name, value) for name, value in row.items())
            copy.write_row((writer.scope, *values, writer.rev))


def _value(name: str, value: Any) -> Any:
    if name in _FLAGS:
        return bool(value)
    return clean(value) if isinstance(value, str) else value


def _note_sessions(writer: ScopeWriter, events: Collection[StoredEvent]) -> None:
    for stored in events:
        agent = stored.event.data.get("agent")
        if stored.event.kind == EXTRACTED and isinstance(agent, str):
            writer.tx.execute(
                "insert into session_memory_state as known "
                "(user_id, session_id, agent_id, extracted_at, rev) values (%s, %s, %s, %s, %s) "
                "on conflict (user_id, session_id, agent_id) do update set rev = excluded.rev, "
                "extracted_at = greatest(known.extracted_at, excluded.extracted_at)",
                (
                    writer.scope, clean(stored.event.subject), clean(agent), stored.at, writer.rev,
                ),
            )  # fmt: skip
