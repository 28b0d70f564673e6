"""The tables on a server that follow from events: uses, ratings, gaps, and sessions that were read.

The rules are those of the local ledger. What new events change is derived again from all events
about the same memories and gaps, so that the order in which homes push does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger.affected import GAPS, USES, AffectedKeys, affected
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.derived import DerivedTables, derived_tables
from djinn_memory.store.postgres import events as stored_events
from djinn_memory.store.postgres.bulk import copying
from djinn_memory.store.postgres.seeds.episode_marks import (
    count_uses,
    mark_episodes,
    mark_newly_read,
)
from djinn_memory.store.postgres.seeds.seed_rows import EVENT_TABLES, RATING_TABLES
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
        mark_newly_read(writer)
    if names := {memory for _, memory in keys.memories}:
        count_uses(writer.tx, writer.scope, sorted(names))


def rebuild(writer: ScopeWriter, events: Sequence[StoredEvent], config: ScoringConfig) -> None:
    """Write the tables again, from all events of the scope."""
    for table in EVENT_TABLES:
        sql = f"delete from {table} where user_id = %s"
        writer.tx.execute(sql.encode(), (writer.scope,))
    for table, listed in table_rows(events, config).items():
        if listed:
            _copy(writer, table, listed)
    writer.tx.execute(
        "update episodic_memories set consolidated_to_semantic = false "
        "where user_id = %s and consolidated_to_semantic",
        (writer.scope,),
    )
    mark_episodes(writer.tx, writer.scope)


def table_rows(
    events: Sequence[StoredEvent], config: ScoringConfig
) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table that follow from all events of a scope, with their columns."""
    with derived_tables(events, config) as tables:
        derived = {table: [*tables.rows(table)] for table in RATING_TABLES}
    read: dict[tuple[str, str], str] = {}
    for key, stored in _extractions(events):
        read[key] = max(read.get(key, ""), stored.at)
    derived["session_memory_state"] = [
        {"session_id": session, "agent_id": agent, "extracted_at": at}
        for (session, agent), at in read.items()
    ]
    return derived


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


def _note_sessions(writer: ScopeWriter, events: Iterable[StoredEvent]) -> None:
    for key, stored in _extractions(events):
        writer.tx.execute(
            "insert into session_memory_state as known "
            "(user_id, session_id, agent_id, extracted_at, rev) values (%s, %s, %s, %s, %s) "
            "on conflict (user_id, session_id, agent_id) do update set rev = excluded.rev, "
            "extracted_at = greatest(known.extracted_at, excluded.extracted_at)",
            (writer.scope, *key, stored.at, writer.rev),
        )


def _extractions(
    events: Iterable[StoredEvent],
) -> Iterator[tuple[tuple[str, str], StoredEvent]]:
    """The events that a session was read for facts, each with its session and agent."""
    for stored in events:
        agent = stored.event.data.get("agent")
        if stored.event.kind == EXTRACTED and isinstance(agent, str):
            yield (clean(stored.event.subject), clean(agent)), stored
