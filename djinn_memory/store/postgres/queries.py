"""Questions about the tables that other programs read: a search of facts, and counts of rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Vectors
from djinn_memory.store.postgres import note_tables
from djinn_memory.store.postgres.scopes import names
from djinn_memory.store.postgres.scopes import scopes as known_scopes
from djinn_memory.store.postgres.values import clean, vector_text

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

LEAST_COSINE = 0.3
"""The least cosine of a question and a fact that answers it, on the scale of the packaged model."""

_COLUMNS = (
    "scopes.name, category, key, value, source, confidence, expires_at, "
    "last_verified_at, valid_from, valid_to"
)


class ServerFact(Struct, frozen=True):
    """A fact on a server."""

    scope: str
    """The id of its vault."""
    vault: str
    """The name of its vault on the server."""
    category: str
    """The subject of the fact."""
    key: str
    """The name of the fact within its category."""
    value: str
    """The value, exactly as it was set."""
    source: str | None
    """The source of the value."""
    confidence: int | None
    """The confidence of the value, in percent."""
    expires: datetime | None
    """When the fact expires."""
    last_verified: datetime | None
    """When the fact was last confirmed."""
    valid_from: str | None
    """The day or time when the value began to hold."""
    valid_to: str | None
    """The day or time until which the value holds."""
    cosine: float | None = None
    """The cosine of the question and the fact, if it was found by meaning."""


def search(
    tx: Cursor,
    query: str,
    vector: Vectors | None,
    at: datetime,
    scopes: Sequence[UUID] | None = None,
    limit: int = 15,
) -> list[ServerFact]:
    """The facts that answer a query and have not expired at a time.

    First those by meaning, nearest first, then those with the query in category, key or value.
    Without a vector only the text counts. Without `scopes`, all that the user of the connection
    may read are searched.
    """
    chosen = [scope for scope, _ in names(tx)] if scopes is None else scopes
    values: dict[str, object] = {"at": at, "limit": limit}
    answers: list[ServerFact] = []
    if vector is not None:
        values |= {"vector": vector_text(vector), "least": LEAST_COSINE}
        answers = _in_scopes(tx, _BY_MEANING, chosen, values)
        answers.sort(key=lambda fact: (-(fact.cosine or 0), *_place(fact)))
    if len(answers) < limit:
        by_text = _in_scopes(tx, BY_TEXT, chosen, values | {"text": _pattern(query)})
        answers += sorted(by_text, key=_place)
    facts: dict[tuple[str, str, str], ServerFact] = {}
    for fact in answers:
        facts.setdefault(_place(fact), fact)
    return [
        replace(fact, cosine=fact.cosine and round(fact.cosine, 4))
        for fact in itertools.islice(facts.values(), limit)
    ]


_HOLDS = "fact.user_id = %(scope)s and (expires_at is null or expires_at > %(at)s)"

_ORDER = 'category collate "C", key collate "C" limit %(limit)s'

_BY_MEANING = (
    "with near as (select fact.*, server.scale * (1 - (embedding <=> %(vector)s::vector)) "
    "+ server.shift as cosine from memory_facts as fact cross join server "
    f"where embedding is not null and {_HOLDS}) "
    f"select {_COLUMNS}, cosine from near as fact join scopes on scopes.user_id = %(scope)s "
    f"where cosine >= %(least)s order by cosine desc, {_ORDER}"
)

BY_TEXT = (
    f"select {_COLUMNS}, null from memory_facts as fact join scopes on scopes.user_id = %(scope)s "
    "where (category ilike %(text)s or key ilike %(text)s or value ilike %(text)s) "
    f"and {_HOLDS} order by {_ORDER}"
)
"""The facts of a scope with a text. Where the server has pg_trgm, it reads the indexes of trigrams.
"""


def _in_scopes(
    tx: Cursor, sql: str, scopes: Sequence[UUID], values: Mapping[str, object]
) -> list[ServerFact]:
    """The facts that a query finds in each scope. A query names one scope, so that a cluster sends
    it to one node.
    """
    return [
        ServerFact(str(scope), *row)
        for scope in scopes
        for row in tx.execute(sql.encode(), {**values, "scope": scope}).fetchall()
    ]


def _place(fact: ServerFact) -> tuple[str, str, str]:
    return fact.category, fact.key, fact.scope


def _pattern(query: str) -> str:
    text = clean(query.strip()).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{text}%"


_KINDS = {
    "episodic": note_tables.EPISODES,
    "semantic": note_tables.PATTERNS,
    "knowledge": note_tables.ENTITIES,
    "documents": note_tables.DOCUMENT_CHUNKS,
    "facts": note_tables.FACTS,
}
"""The kinds of memories, and the tables with their vectors."""


class KindCount(Struct, frozen=True):
    """The memories of a kind on a server."""

    kind: str
    """episodic, semantic, knowledge, documents or facts. Of documents the chunks count."""
    total: int
    """The number of rows."""
    with_embedding: int
    """The rows that have a vector."""


class DocumentCount(Struct, frozen=True):
    """The documents of a type on a server."""

    document_type: str | None
    """general, technical, personal or reference."""
    documents: int
    """The number of documents."""
    chunks: int
    """The number of their chunks."""


class SyncStats(Struct, frozen=True):
    """The contents of the server's tables, in numbers."""

    notes: int
    """The notes, of all types and without one."""
    memories: Sequence[KindCount]
    """The memories of each kind."""
    documents: Sequence[DocumentCount]
    """The documents of each type."""
    consolidated: int
    """The episodes that were read for patterns."""
    unconsolidated: int
    """The other episodes."""


def count_rows(tx: Cursor, scopes: Sequence[UUID] | None) -> SyncStats:
    """Count in all scopes that the user may read, or in the given ones."""
    notes = sum(
        scope.notes for scope in known_scopes(tx) if scopes is None or scope.user_id in scopes
    )
    values = {"scopes": None if scopes is None else [*scopes]}
    own = "(%(scopes)s::uuid[] is null or user_id = any(%(scopes)s::uuid[]))"
    memories = []
    for kind, table in _KINDS.items():
        sql = f"select count(*), count({table.vector}) from {table.name} where {own}"
        [counts] = tx.execute(sql.encode(), values)
        memories.append(KindCount(kind, *counts))
    documents = tx.execute(
        "select document_type, count(distinct document_id), count(*) "
        f"from document_chunks where {own} group by document_type order by document_type".encode(),
        values,
    ).fetchall()
    [episodes] = tx.execute(
        "select count(*) filter (where consolidated_to_semantic), "
        "count(*) filter (where not consolidated_to_semantic) "
        f"from episodic_memories where {own}".encode(),
        values,
    )
    return SyncStats(notes, memories, [DocumentCount(*row) for row in documents], *episodes)
