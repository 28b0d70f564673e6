"""The tables on a server that follow from events: uses, ratings, gaps, and sessions that were read.

The rules are those of the local ledger. Rows that new events change are derived again from all
events about the same memories and gaps, so that the order in which homes push does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct

from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger.events import (
    KEY_ADDED,
    KEY_REVOKED,
    TOOL_CALLED,
    StoredEvent,
    ToolCalled,
    read_data,
)
from djinn_memory.store.ledger.projections import (
    GAPS,
    KEYED_TABLES,
    RETRIEVED,
    USES,
    AffectedKeys,
    TableReader,
    affected,
    derived_tables,
)
from djinn_memory.store.postgres import events as stored_events
from djinn_memory.store.postgres.values import Row, clean, insert_rows, replace_rows

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor, ScopeWriter

CORRELATIONS = "semantic_correlations"
"""The table of things that occur together. Its rows follow from all episodes of an agent."""

_RATING_TABLES = {table: key for table, key in KEYED_TABLES.items() if table != "memory_uses"}
"""The tables that the local ledger has too, and the column with the subjects of their events."""

EVENT_TABLES = (*_RATING_TABLES, "session_memory_state", "tool_executions", "api_keys")
"""The tables whose rows follow from events."""

SHOWN = "shown"
"""The key in `context_snapshot` with the memories that the agent saw before an interaction."""

CONSOLIDATED = "consolidation.read"
_EXTRACTED = "extraction.read"
"""Kinds of events: episodes were read for patterns, and a session was read for facts."""

KEY_EVENTS = (KEY_ADDED, KEY_REVOKED)

_TIMES = ("created_at", "closed_at", "last_used", "last_valued", "updated_at")
"""Columns with times."""


def follow(writer: ScopeWriter, events: Sequence[StoredEvent], config: ScoringConfig) -> None:
    """Update the tables after events were written or changed, in the same transaction."""
    keys = affected(events)
    with derived_tables([*_related(writer, keys), *events], config) as rows_of:
        _replace(writer, keys, rows_of)
    _note_sessions(writer, events)
    _note_calls(writer, events)
    if any(stored.event.kind in KEY_EVENTS for stored in events):
        known = stored_events.of_kinds(writer.tx, writer.scope, KEY_EVENTS)
        replace_rows(writer.tx, writer.scope, writer.rev, "api_keys", _keys(known))
    if any(stored.event.kind == CONSOLIDATED for stored in events):
        writer.tx.execute(_NEWLY_READ, {"scope": writer.scope, "rev": writer.rev})
    recalls = (stored.event for stored in events if stored.event.kind == RETRIEVED)
    if sessions := {str(recall.data.get("session")) for recall in recalls}:
        _mark(writer.tx, writer.scope, _SHOWN, "session_id", sorted(sessions))
    if names := {memory for _, memory in keys.memories}:
        _mark(writer.tx, writer.scope, _USES, "djinn_id", sorted(names))


def rebuild(writer: ScopeWriter, events: Sequence[StoredEvent], config: ScoringConfig) -> None:
    """Write the tables again, from all events of the scope."""
    derived = table_rows(events, config)
    for table in EVENT_TABLES:
        replace_rows(writer.tx, writer.scope, writer.rev, table, derived[table])
    writer.tx.execute(
        "update episodic_memories set consolidated_to_semantic = false "
        "where user_id = %s and consolidated_to_semantic",
        (writer.scope,),
    )
    mark_episodes(writer.tx, writer.scope)


def table_rows(events: Sequence[StoredEvent], config: ScoringConfig) -> dict[str, Sequence[Row]]:
    """The rows of each table that follow from all events of a scope."""
    derived: dict[str, Sequence[Row]] = {}
    with derived_tables(events, config) as rows_of:
        for table in _RATING_TABLES:
            derived[table] = [*map(_with_times, rows_of(table))]
    read: dict[tuple[str, str], str] = {}
    for key, stored in _extractions(events):
        read[key] = max(read.get(key, ""), stored.at)
    derived["session_memory_state"] = [
        {"session_id": session, "agent_id": agent, "extracted_at": datetime.fromisoformat(at)}
        for (session, agent), at in read.items()
    ]
    derived["tool_executions"] = _calls(events)
    derived["api_keys"] = _keys(events)
    return derived


def _with_times(row: Row) -> Row:
    """A row of the ledger, whose times are texts."""
    times = {name: datetime.fromisoformat(row[name]) for name in _TIMES if row.get(name)}
    return {**row, **times}


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


def _replace(writer: ScopeWriter, keys: AffectedKeys, rows_of: TableReader) -> None:
    tx, scope = writer.tx, writer.scope
    agents, memories = keys.pairs
    tx.execute(
        "delete from memory_retrieval_log "
        "where user_id = %s and memory_id = '' and request_id = any(%s)",
        (scope, [*keys.requests]),
    )
    tx.execute("delete from memory_gaps where user_id = %s and id = any(%s)", (scope, [*keys.gaps]))
    for table, column in _RATING_TABLES.items():
        if column == "memory_id" and keys.memories:
            sql = (
                f"delete from {table} using unnest(%s::text[], %s::text[]) "
                f"as gone (agent_id, memory_id) where user_id = %s "
                f"and {table}.agent_id = gone.agent_id and {table}.memory_id = gone.memory_id"
            )
            tx.execute(sql.encode(), (agents, memories, scope))
        listed = [row for row in rows_of(table) if keys.include(column, row)]
        insert_rows(tx, scope, writer.rev, table, listed)


def _note_sessions(writer: ScopeWriter, events: Iterable[StoredEvent]) -> None:
    for key, stored in _extractions(events):
        writer.tx.execute(
            "insert into session_memory_state as known "
            "(user_id, session_id, agent_id, extracted_at, rev) values (%s, %s, %s, %s, %s) "
            "on conflict (user_id, session_id, agent_id) do update set rev = excluded.rev, "
            "extracted_at = greatest(known.extracted_at, excluded.extracted_at)",
            (writer.scope, *key, stored.at, writer.rev),
        )


def _extractions(events: Iterable[StoredEvent]) -> Iterator[tuple[tuple[str, str], StoredEvent]]:
    """The events that a session was read for facts, each with its session and agent."""
    for stored in events:
        agent = stored.event.data.get("agent")
        if stored.event.kind == _EXTRACTED and isinstance(agent, str):
            yield (clean(stored.event.subject), clean(agent)), stored


def _note_calls(writer: ScopeWriter, events: Iterable[StoredEvent]) -> None:
    calls = _calls(events)
    writer.tx.execute(
        "delete from tool_executions where user_id = %s and id = any(%s)",
        (writer.scope, [call["id"] for call in calls]),
    )
    insert_rows(writer.tx, writer.scope, writer.rev, "tool_executions", calls)


def _calls(events: Iterable[StoredEvent]) -> list[Row]:
    """The rows of `tool_executions`."""
    calls = (stored for stored in events if stored.event.kind == TOOL_CALLED)
    read = ((stored, read_data(stored, ToolCalled)) for stored in calls)
    return [
        {
            "id": UUID(stored.id),
            "tool_name": stored.event.subject,
            "agent_id": call.agent or "",
            "client": call.client,
            "session_id": call.session,
            "outcome": call.outcome,
            "duration_ms": call.milliseconds,
            "created_at": datetime.fromisoformat(stored.at),
        }
        for stored, call in read
        if call
    ]


class _KeyChange(Struct):
    """The data of an event of a key."""

    home: UUID
    scope: str
    created: datetime
    agents: list[str] = []
    vaults: list[str] = []
    domains: list[str] = []
    expires: str | None = None


def _keys(events: Iterable[StoredEvent]) -> list[Row]:
    """The rows of `api_keys`: the last change of each key."""
    changes = sorted(stored for stored in events if stored.event.kind in KEY_EVENTS)
    keys: dict[tuple[UUID, str], Row] = {}
    for stored in changes:
        if key := read_data(stored, _KeyChange):
            name = clean(stored.event.subject)
            is_revoked = stored.event.kind == KEY_REVOKED
            keys[key.home, name] = {
                "home_id": key.home,
                "key_name": name,
                "scope": key.scope,
                "agents": key.agents,
                "vaults": key.vaults,
                "domains": key.domains,
                "created_at": key.created,
                "expires": key.expires,
                "revoked_at": datetime.fromisoformat(stored.at) if is_revoked else None,
            }
    return [*keys.values()]


def mark_episodes(tx: Cursor, scope: UUID, names: Sequence[str] | None = None) -> None:
    """Set what the events say of episodes: how often they were used, whether they were read, and
    what the agent had been shown.

    Without names all episodes of the scope are marked. `consolidation.read` names the time until
    which the episodes were read, and the younger ones that a person had marked.
    """
    for sql in (_USES, _SHOWN, _READ):
        _mark(tx, scope, sql, "djinn_id", names)


def _mark(tx: Cursor, scope: UUID, sql: str, column: str, names: Sequence[str] | None) -> None:
    """Set something of the episodes with some values in a column; of all without values."""
    where = "" if names is None else f"and {column} = any(%(names)s)"
    tx.execute(f"{sql} {where}".encode(), {"scope": scope, "names": list(names or ())})


USES_OF_EPISODE = (
    "(select coalesce(sum(uses.access_count), 0)::int from memory_scores as uses "
    "where uses.user_id = %(scope)s and uses.memory_id = episode.djinn_id)"
)

_USES = (
    f"update episodic_memories as episode set access_count = {USES_OF_EPISODE} "
    f"where user_id = %(scope)s and access_count <> {USES_OF_EPISODE}"
)

OWN_CONTEXT = (
    f"nullif(case jsonb_typeof(context_snapshot) when 'object' "
    f"then context_snapshot - '{SHOWN}' end, '{{}}')"
)
"""The context that the note of an episode states, in `context_snapshot`."""

CONTEXT_OF_EPISODE = f"""
(select nullif(coalesce({OWN_CONTEXT}, '{{}}') || coalesce((
    select jsonb_set('{{"{SHOWN}": null}}', '{{{SHOWN}}}', jsonb_set(
        jsonb_object(array[
            'request_id', subject, 'source', data ->> 'source', 'profile', data ->> 'profile'
        ]) || '{{"memories": null}}',
        '{{memories}}', jsonb_path_query_array(data, '$.memories[*].memory')
    ))
    from events as recall
    where recall.user_id = %(scope)s and recall.kind = 'memory.retrieved'
        and recall.data ->> 'session' = episode.session_id
        and recall.at > occurred_at - interval '24 hours'
        and recall.at < occurred_at + interval '10 seconds'
        and (data ->> 'source' = 'hook' or recall.at < occurred_at + interval '1 second')
    order by recall.at desc, recall.id desc limit 1
), '{{}}'), '{{}}'))
"""
"""The `context_snapshot` of an interaction: that of its note, and the last recall before it in its
session, at most a day ago. Journals tell times to the second. A hook recalls after the time of the
prompt, and before the agent answers it."""

_SHOWN = (
    f"update episodic_memories as episode set context_snapshot = {CONTEXT_OF_EPISODE} "
    "where user_id = %(scope)s and episode_type = 'interaction' "
    f"and context_snapshot is distinct from {CONTEXT_OF_EPISODE}"
)

_OF_READING = "user_id = %(scope)s and kind = 'consolidation.read'"

# All times have one form, so that the greatest text is the last time.
READING_OF_EPISODE = f"""
(occurred_at <= (
    select (data ->> 'until')::timestamptz from events
    where {_OF_READING} and data ->> 'until' is not null
    order by (data ->> 'until') collate "C" desc limit 1
)
or exists (
    select from events as reading
    where reading.{_OF_READING} and jsonb_typeof(data -> 'marked') = 'array'
        and data -> 'marked' ? episode.djinn_id
))
"""
"""Whether a consolidation has read an episode."""

_READ = (
    "update episodic_memories as episode set consolidated_to_semantic = true "
    f"where user_id = %(scope)s and not consolidated_to_semantic and {READING_OF_EPISODE}"
)

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
