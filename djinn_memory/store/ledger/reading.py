"""What the tables that follow from the events say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import Struct

from djinn_memory.scoring import Record
from djinn_memory.store.ledger.events import Event
from djinn_memory.store.ledger.ledger import Ledger
from djinn_memory.store.ledger.projections import parsed
from djinn_memory.store.sqlite import peek, rows


class ShownMemory(Struct, frozen=True):
    """A memory as a recall put it before an agent."""

    request: str
    memory: str
    title: str
    rank: int
    raw: float | None
    score: float | None
    used: bool
    """Whether it was opened or rated useful since."""
    at: str


class QuestionRating(Struct, frozen=True):
    """A rating of what a question brought up."""

    useful: bool
    question: str


class Gap(Struct, frozen=True):
    """What an agent looked for in vain."""

    id: str
    """`gap_` and 10 characters."""
    agent: str
    """Who told of it."""
    description: str
    """In its words."""
    query: str | None
    """What it had asked."""
    status: str
    """`open` or `closed`."""
    closed_by: str | None
    """The id, or the vault and path, of the memory that answers it."""
    created: str
    """When it was told of, as ISO 8601 in UTC."""
    closed: str | None
    """When it was closed."""


class LoggedCall(Struct, frozen=True):
    """A call of a tool of the server."""

    tool: str
    agent: str | None
    session: str | None
    arguments: str
    """JSON, secrets masked."""
    outcome: str
    milliseconds: float | None
    at: str


def records(ledger: Ledger, memories: Sequence[str]) -> dict[str, dict[str, Record]]:
    """By memory and agent: what happened to those of `memories` to which something did."""
    found: dict[str, dict[str, Record]] = {}
    for memory, agent, *counts in ledger.rows(
        f"select memory_id, {_RECORD} from memory_scores "
        "where memory_id in (select value from json_each(?))",
        (json.dumps(list(memories)),),
    ):
        found.setdefault(memory, {})[agent] = Record(*counts)
    return found


def ratings(ledger: Ledger, memories: Sequence[str]) -> dict[str, dict[str, list[QuestionRating]]]:
    """By memory and agent: the ratings of `memories` that were given to questions."""
    found: dict[str, dict[str, list[QuestionRating]]] = {}
    for memory, agent, useful, question in ledger.rows(
        "select memory_id, agent_id, useful, (select query from memory_retrieval_log as asked "
        "where asked.request_id = memory_valuations.request_id limit 1) as question "
        "from memory_valuations where memory_id in (select value from json_each(?)) "
        "and question is not null",
        (json.dumps(list(memories)),),
    ):
        found.setdefault(memory, {}).setdefault(agent, []).append(
            QuestionRating(bool(useful), question)
        )
    return found


def scored(ledger: Ledger, agents: Sequence[str]) -> list[tuple[str, str, Record]]:
    """(agent, memory, record) of all that these agents used or rated."""
    found = ledger.rows(
        f"select memory_id, {_RECORD} from memory_scores "
        "where agent_id in (select value from json_each(?)) order by updated_at desc, memory_id",
        (json.dumps(list(agents)),),
    )
    return [(agent, memory, Record(*counts)) for memory, agent, *counts in found]


_RECORD = "agent_id, access_count, useful_count, not_useful_count, last_used, last_valued"


def hashes(ledger: Ledger, memories: Iterable[str]) -> dict[str, set[str]]:
    """The texts with which these memories were seen, by memory."""
    found: dict[str, set[str]] = {}
    for memory, digest in ledger.rows(
        "select memory_id, hash from memory_hashes "
        "where memory_id in (select value from json_each(?))",
        (json.dumps(list(memories)),),
    ):
        found.setdefault(memory, set()).add(digest)
    return found


def seen_with(ledger: Ledger, digests: Iterable[str]) -> dict[str, set[str]]:
    """The memories that were seen with these texts, by text."""
    found: dict[str, set[str]] = {}
    for memory, digest in ledger.rows(
        "select memory_id, hash from memory_hashes where hash in (select value from json_each(?))",
        (json.dumps(list(digests)),),
    ):
        found.setdefault(digest, set()).add(memory)
    return found


def last_request(ledger: Ledger, agent: str, session: str | None = None) -> str | None:
    """The last recall of an agent that found something, in a session if one is given."""
    found = ledger.rows(
        "select request_id from memory_retrieval_log where agent_id = ?1 "
        "and (?2 is null or session_id = ?2) order by id desc limit 1",
        (agent, session),
    )
    return found[0][0] if found else None


def shown(ledger: Ledger, request: str, agent: str) -> list[ShownMemory]:
    """What a recall of an agent put before it, by rank; nothing for a request of another's."""
    found = ledger.rows(
        "select request_id, memory_id, memory_title, rank, raw_score, blended_score, used, "
        "created_at from memory_retrieval_log where request_id = ? and agent_id = ? order by rank",
        (request, agent),
    )
    return [
        ShownMemory(key, memory, title, rank, raw, score, bool(used), at)
        for key, memory, title, rank, raw, score, used, at in found
    ]


def gaps(ledger: Ledger, agent: str, status: str | None = "open") -> list[Gap]:
    """The gaps that an agent told of, the oldest first; of any status with None."""
    found = ledger.rows(
        "select id, agent_id, description, query_attempted, status, closed_by, created_at, "
        "closed_at from memory_gaps where agent_id = ?1 and (?2 is null or status = ?2) "
        "order by created_at, id",
        (agent, status),
    )
    return [Gap(*row) for row in found]


def open_gaps(path: Path, agent: str) -> list[str]:
    """The ids of an agent's open gaps, for completion: makes nothing, and no error."""
    sql = "select id from memory_gaps where agent_id = ? and status = 'open' order by id"
    try:
        with closing(peek(path)) as connection:
            return [key for (key,) in rows(connection, sql, (agent,))]
    except apsw.Error:
        return []


def calls(ledger: Ledger, limit: int = 100) -> list[LoggedCall]:
    """The last calls of tools, the newest first."""
    found = ledger.rows(
        "select tool, agent, session, arguments, outcome, milliseconds, created_at "
        "from tool_calls order by id desc limit ?",
        (limit,),
    )
    return [LoggedCall(*row) for row in found]


def session_events(
    ledger: Ledger, kinds: Sequence[str], agent: str, named: str | None
) -> list[Event]:
    """What happened in the session of that name, or in all since the agent last began one.

    The oldest first. To begin one that is `named` does not count for the others.
    """
    by_agent = "json_valid(data) and data ->> '$.agent' = ?1"
    found = ledger.rows(
        "select kind, subject, data, at from event where kind in (select value from json_each(?2)) "
        f"and {by_agent} and iif(?3 is not null, subject = ?3, id >= ifnull((select max(id) from "
        f"event where kind = 'session.started' and {by_agent} "
        "and not ifnull(data ->> '$.named', 0)), '')) order by id",
        (agent, json.dumps(kinds), named),
    )
    return [Event(one, whom, parsed(data), at) for one, whom, data, at in found]


def query(ledger: Ledger, request: str) -> str | None:
    """What a recall was asked."""
    found = ledger.rows(
        "select query from memory_retrieval_log where request_id = ? limit 1", (request,)
    )
    return found[0][0] if found else None
