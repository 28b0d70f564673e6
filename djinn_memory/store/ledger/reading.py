"""Queries of the tables derived from the events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import Struct

from djinn_memory.scoring import Record
from djinn_memory.store.busy import Patience
from djinn_memory.store.ledger.events import Event, StoredEvent
from djinn_memory.store.ledger.ledger import Ledger
from djinn_memory.store.ledger.projections import parse_data, parse_events
from djinn_memory.store.ledger.redaction import BLANK, blanks
from djinn_memory.store.sqlite import peek, rows
from djinn_memory.system.waits import GLANCE_SECONDS


class ShownMemory(Struct, frozen=True):
    """A memory in the results of a recall."""

    request: str
    memory: str
    title: str
    rank: int
    raw: float | None
    score: float | None
    used: bool
    """Whether the agent then opened it or rated it useful."""
    at: str


class QuestionRating(Struct, frozen=True):
    """A rating of a memory as an answer to a question."""

    useful: bool
    question: str


class Gap(Struct, frozen=True):
    """Knowledge that an agent looked for and did not find."""

    id: str
    """`gap_` and 10 characters."""
    agent: str
    """The agent that reported it."""
    description: str
    """The missing knowledge, in the agent's words."""
    query: str | None
    """The query that had no answer."""
    status: str
    """`open` or `closed`."""
    closed_by: str | None
    """The id, or the vault and path, of the memory that answers it."""
    created: str
    """When it was reported, as ISO 8601 in UTC."""
    closed: str | None
    """When it was closed."""


def records(ledger: Ledger, memories: Sequence[str]) -> dict[str, dict[str, Record]]:
    """The records of `memories`, by memory and agent. Memories without events are left out."""
    result: dict[str, dict[str, Record]] = {}
    for memory, agent, *counts in ledger.rows(
        f"select memory_id, {_RECORD} from memory_scores "
        "where memory_id in (select value from json_each(?))",
        (json.dumps(list(memories)),),
    ):
        result.setdefault(memory, {})[agent] = Record(*counts)
    return result


def ratings(ledger: Ledger, memories: Sequence[str]) -> dict[str, dict[str, list[QuestionRating]]]:
    """The ratings of `memories` as answers to questions, by memory and agent."""
    result: dict[str, dict[str, list[QuestionRating]]] = {}
    for memory, agent, useful, question in ledger.rows(
        "select memory_id, agent_id, useful, (select query from memory_retrieval_log as recall "
        "where recall.request_id = memory_valuations.request_id limit 1) as question "
        "from memory_valuations where memory_id in (select value from json_each(?)) "
        "and question is not null",
        (json.dumps(list(memories)),),
    ):
        result.setdefault(memory, {}).setdefault(agent, []).append(
            QuestionRating(bool(useful), question)
        )
    return result


def scored(ledger: Ledger, agents: Sequence[str]) -> list[tuple[str, str, Record]]:
    """The (agent, memory, record) of every memory that these agents used or rated."""
    scores = ledger.rows(
        f"select memory_id, {_RECORD} from memory_scores "
        "where agent_id in (select value from json_each(?)) order by updated_at desc, memory_id",
        (json.dumps(list(agents)),),
    )
    return [(agent, memory, Record(*counts)) for memory, agent, *counts in scores]


_BY_AGENT = "json_valid(data) and data ->> '$.agent' = ?2"
_RECORD = "agent_id, access_count, useful_count, not_useful_count, last_used, last_valued"


def events_of(ledger: Ledger, kinds: Sequence[str], subjects: Sequence[str]) -> list[Event]:
    """The events of some kinds about some subjects, oldest first."""
    among = "and subject in (select value from json_each(?2))"
    return _events(ledger, kinds, among, json.dumps(list(subjects)))


def events_by_kind(ledger: Ledger, kinds: Sequence[str]) -> list[Event]:
    """All events of some kinds, oldest first."""
    return _events(ledger, kinds)


def _events(
    ledger: Ledger, kinds: Sequence[str], condition: str = "", *values: object
) -> list[Event]:
    """The events of some kinds that meet a condition, oldest first. Its values begin at `?2`."""
    events = ledger.rows(
        "select kind, subject, data, at from event where kind in (select value from json_each(?1)) "
        f"{condition} order by id",
        (json.dumps(list(kinds)), *values),
    )
    return [Event(kind, subject, parse_data(data), at) for kind, subject, data, at in events]


def stored_events(ledger: Ledger, kinds: Sequence[str], after: str = "") -> list[StoredEvent]:
    """The events of some kinds with greater ids than `after`, oldest first."""
    events = ledger.rows(
        "select id, at, kind, subject, data from event where id > ? "
        "and kind in (select value from json_each(?)) order by id",
        (after, json.dumps(list(kinds))),
    )
    return [*parse_events(events)]


def purged_events(ledger: Ledger, kinds: Sequence[str]) -> list[StoredEvent]:
    """The events of some kinds of which texts were purged, oldest first."""
    events = ledger.rows(
        # As in the condition of an index. With the plus sign, that of the kinds is not used.
        "select id, at, kind, subject, data from event "
        f"where instr(data, '{BLANK}') > 0 and +kind in (select value from json_each(?)) "
        "order by id",
        (json.dumps(list(kinds)),),
    )
    return [stored for stored in parse_events(events) if blanks(stored.event.data)]


def hashes(ledger: Ledger, memories: Iterable[str]) -> dict[str, set[str]]:
    """The hashes of all texts that these memories have had, by memory."""
    return _grouped(ledger, "memory_id, hash", memories)


def seen_with(ledger: Ledger, digests: Iterable[str]) -> dict[str, set[str]]:
    """The memories that have had texts with these hashes, by hash."""
    return _grouped(ledger, "hash, memory_id", digests)


def _grouped(ledger: Ledger, columns: str, values: Iterable[str]) -> dict[str, set[str]]:
    """Read `memory_hashes`: values of the second column by the first, which is one of `values`."""
    result: dict[str, set[str]] = {}
    for key, value in ledger.rows(
        f"select {columns} from memory_hashes "
        f"where {columns.partition(',')[0]} in (select value from json_each(?))",
        (json.dumps(list(values)),),
    ):
        result.setdefault(key, set()).add(value)
    return result


def last_request(
    ledger: Ledger, agent: str, session: str | None = None, *, shown: bool = False
) -> str | None:
    """An agent's last recall, in `session` if given.

    With `shown`, the last recall with that memory.
    """
    requests = ledger.rows(
        "select request_id from memory_retrieval_log where agent_id = ?1 "
        "and (?2 is null or session_id = ?2) and (memory_id != '' or not ?3) "
        "order by id desc limit 1",
        (agent, session, shown),
    )
    return requests[0][0] if requests else None


def last_queries(ledger: Ledger, agent: str, limit: int) -> list[str]:
    """An agent's last queries that found memories, the newest first, each once."""
    queries = ledger.rows(
        "select query, max(id) as last from (select query, id from memory_retrieval_log "
        "where agent_id = ?1 and query != '' order by id desc limit 1000) "
        "group by query order by last desc limit ?2",
        (agent, limit),
    )
    return [query for query, _ in queries]


def last_recalls(
    ledger: Ledger, agent: str, limit: int
) -> list[tuple[str, str, str, int, int, int]]:
    """An agent's last recalls with a query, the newest first: id, time, query, and the numbers of
    memories, and of those rated as useful and as not useful.
    """
    return ledger.rows(
        "select request_id, min(created_at), query, sum(memory_id != ''), "
        "(select count(*) from memory_valuations as rated "
        "where rated.request_id = recall.request_id and useful), "
        "(select count(*) from memory_valuations as rated "
        "where rated.request_id = recall.request_id and not useful) "
        "from memory_retrieval_log as recall where agent_id = ? and query != '' "
        "group by request_id order by max(id) desc limit ?",
        (agent, limit),
    )


def shown(ledger: Ledger, request: str, agent: str) -> list[ShownMemory]:
    """The memories in a recall, by rank. Empty for another agent's request."""
    memories = ledger.rows(
        "select request_id, memory_id, memory_title, rank, raw_score, blended_score, used, "
        "created_at from memory_retrieval_log where request_id = ? and agent_id = ? "
        "and memory_id != '' order by rank",
        (request, agent),
    )
    return [
        ShownMemory(key, memory, title, rank, raw, score, bool(used), at)
        for key, memory, title, rank, raw, score, used, at in memories
    ]


def gaps(ledger: Ledger, agent: str, status: str | None = "open") -> list[Gap]:
    """The gaps that an agent reported, oldest first. None selects any status."""
    gaps = ledger.rows(
        "select id, agent_id, description, query_attempted, status, closed_by, created_at, "
        "closed_at from memory_gaps where agent_id = ?1 and (?2 is null or status = ?2) "
        "order by created_at, id",
        (agent, status),
    )
    return [Gap(*row) for row in gaps]


def open_gaps(path: Path, agent: str) -> list[str]:
    """The ids of an agent's open gaps, for completion. Creates no file and raises no error."""
    sql = "select id from memory_gaps where agent_id = ? and status = 'open' order by id"
    try:
        with Patience().waiting(GLANCE_SECONDS), closing(peek(path)) as connection:
            return [key for (key,) in rows(connection, sql, (agent,))]
    except apsw.Error:
        return []


def session_events(
    ledger: Ledger, kinds: Sequence[str], agent: str, named: str | None
) -> list[Event]:
    """The events of the session `named`, or since the last unnamed session began, oldest first."""
    session = (
        f"and {_BY_AGENT} and iif(?3 is not null, subject = ?3, id >= ifnull((select max(id) from "
        f"event where kind = 'session.started' and {_BY_AGENT} "
        "and not ifnull(data ->> '$.named', 0)), ''))"
    )
    return _events(ledger, kinds, session, agent, named)


def last_start(ledger: Ledger, agent: str, session: str) -> str | None:
    """The id of the event with which a session of an agent last began."""
    events = ledger.rows(
        "select id from event where kind = 'session.started' and subject = ?1 "
        f"and {_BY_AGENT} order by id desc limit 1",
        (session, agent),
    )
    return str(events[0][0]) if events else None


def subjects(ledger: Ledger, kind: str, among: Sequence[str]) -> set[str]:
    """The subjects of events of a kind that are `among` the given ones."""
    events = ledger.rows(
        "select distinct subject from event where kind = ? "
        "and subject in (select value from json_each(?))",
        (kind, json.dumps(list(among))),
    )
    return {subject for (subject,) in events}


def agent_events(ledger: Ledger, kinds: Sequence[str], agent: str) -> list[Event]:
    """The events of some kinds whose data names an agent, oldest first."""
    return _events(ledger, kinds, f"and {_BY_AGENT}", agent)


def query(ledger: Ledger, request: str, agent: str) -> str | None:
    """The query of a recall. None for another agent's recall."""
    queries = ledger.rows(
        "select query from memory_retrieval_log where request_id = ? and agent_id = ? limit 1",
        (request, agent),
    )
    return queries[0][0] if queries else None
