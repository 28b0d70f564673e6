"""Searches the facts on a server: by meaning first, then by text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from msgspec import Struct

from djinn_memory.store.postgres.values import clean, vector_text

if TYPE_CHECKING:
    from djinn_memory.models import Vectors
    from djinn_memory.store.postgres.connection import Cursor

LEAST_COSINE = 0.3
"""The least cosine of a question and a fact that answers it, on the scale of the packaged model."""

_COLUMNS = (
    "fact.user_id, scopes.name, category, key, value, source, confidence, expires_at, "
    "last_verified_at, valid_from, valid_to"
)


class ServerFact(Struct, frozen=True):
    """A fact on a server."""

    scope: str
    """The id of its vault."""
    vault: str
    """The name of its vault on the server."""
    category: str
    """What the fact is about."""
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
    facts: dict[tuple[str, str, str], ServerFact] = {}
    chosen = None if scopes is None else [*scopes]
    if vector is not None:
        for row in tx.execute(
            f"with near as (select fact.*, server.scale * (1 - (embedding <=> %(vector)s::vector)) "
            f"+ server.shift as cosine from memory_facts as fact cross join server "
            f"where embedding is not null and {_HOLDS}) "
            f"select {_COLUMNS}, cosine from near as fact join scopes using (user_id) "
            f"where cosine >= %(least)s order by cosine desc, category, key, fact.user_id "
            f"limit %(limit)s".encode(),
            {
                "vector": vector_text(vector), "scopes": chosen, "at": at, "least": LEAST_COSINE,
                "limit": limit,
            },
        ):  # fmt: skip
            _add(facts, row)
    if len(facts) < limit:
        for row in tx.execute(
            BY_TEXT.encode(),
            {"text": _pattern(query), "scopes": chosen, "at": at, "limit": limit},
        ):
            _add(facts, row)
    return [*facts.values()][:limit]


_HOLDS = (
    "(%(scopes)s::uuid[] is null or fact.user_id = any(%(scopes)s::uuid[])) "
    "and (expires_at is null or expires_at > %(at)s)"
)

BY_TEXT = (
    f"select {_COLUMNS}, null from memory_facts as fact join scopes using (user_id) "
    "where (category ilike %(text)s or key ilike %(text)s or value ilike %(text)s) "
    f"and {_HOLDS} order by category, key, fact.user_id limit %(limit)s"
)
"""The facts with a text. Where the server has pg_trgm, it reads the indexes of trigrams."""


def _add(facts: dict[tuple[str, str, str], ServerFact], row: Sequence[Any]) -> None:
    named = dict(zip(ServerFact.__struct_fields__, row, strict=True))
    cosine = named["cosine"]
    named |= {"scope": str(named["scope"]), "cosine": cosine and round(cosine, 4)}
    fact = ServerFact(**named)
    facts.setdefault((fact.scope, fact.category, fact.key), fact)


def _pattern(query: str) -> str:
    text = clean(query.strip()).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{text}%"
