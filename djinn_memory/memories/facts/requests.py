"""Requests about facts. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.operations.checks import RawDay, RawText
from djinn_memory.search.narrowing import (
    AgentName,
    AllowSecret,
    DomainName,
    ValidFrom,
    ValidTo,
    WriteShared,
)

CONFIDENCES = {
    "tool_call": 0.95,
    "auto_discovery": 0.95,
    "user_explicit": 0.90,
    "conversation": 0.70,
    "web": 0.50,
    "guess": 0.30,
}
"""The default confidence of a fact, by its source."""

DEFAULT_SOURCE = "user_explicit"
"""The source of a fact that is set without one."""

PAGE = 50
"""Number of facts on a page of a list."""

SortKey = Literal["category", "key", "updated", "confidence"]
SortOrder = Literal["asc", "desc"]

Name = Annotated[RawText, Meta(min_length=1, max_length=200)]
_Short = Annotated[str, Meta(max_length=500)]
_Raw = Annotated[RawText, Meta(max_length=500)]
_Category = Annotated[Name, Meta(description="The subject of the fact, such as a person.")]
_Key = Annotated[Name, Meta(description="The name of the fact in its category.")]
_AnyCategory = Annotated[
    Name | None, Meta(description="The category; not needed if only one category has the key.")
]
_Expired = Annotated[bool, Meta(description="Include facts that have expired.")]
FactsAsOf = Annotated[
    RawDay | None,
    Meta(
        description="The value that held at the end of this day, or at this time: 2026-03-01, "
        "2026-03, 30d. Values count that were recorded later."
    ),
]
_Limit = Annotated[int, Meta(ge=1, le=1000, description="The maximum number of facts.")]


class SetFact(Struct, frozen=True):
    """Set a fact. The history in its note keeps the previous value.

    Setting the value that the fact already has only confirms it: `last_verified` changes.
    """

    category: _Category
    key: _Key
    value: Annotated[RawText, Meta(max_length=20_000, description="The value of the fact.")]
    source: Annotated[
        _Short | None,
        Meta(
            description=f"The source of the value: {', '.join(CONFIDENCES)}, or another name; "
            f"{DEFAULT_SOURCE} if not given."
        ),
    ] = None
    confidence: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="The confidence, from 0 to 1. Default: depends on the source."),
    ] = None
    expires: Annotated[
        _Raw | None, Meta(description="When the fact expires: a date, or an interval such as 30d.")
    ] = None
    valid_from: ValidFrom = None
    valid_to: ValidTo = None
    evidence: Annotated[
        Sequence[_Raw], Meta(max_length=20, description="Memories that say so, by title or path.")
    ] = ()
    context: Annotated[
        _Raw | None, Meta(description="The context of the source, such as the conversation.")
    ] = None
    domain: DomainName = None
    shared: WriteShared = False
    agent: AgentName = None
    allow_secret: AllowSecret = False


class GetFact(Struct, frozen=True):
    """Get the value of a fact, exactly as it was set."""

    category: _AnyCategory
    key: _Key
    expired: _Expired = False
    as_of: FactsAsOf = None
    agent: AgentName = None


class ListFacts(Struct, frozen=True):
    """List facts, a page at a time."""

    category: Annotated[Name | None, Meta(description="Only facts of this category.")] = None
    search: Annotated[
        _Raw | None, Meta(description="Only facts with this text in category, key or value.")
    ] = None
    sort: Annotated[SortKey, Meta(description="What to sort by.")] = "category"
    order: Annotated[
        SortOrder | None,
        Meta(description="The sort direction. Default: ascending for names, descending otherwise."),
    ] = None
    limit: _Limit = PAGE
    skip: Annotated[
        int, Meta(ge=0, le=10_000_000, description="How many of the first facts to skip.")
    ] = 0
    expired: _Expired = False
    as_of: FactsAsOf = None
    agent: AgentName = None


class SearchFacts(Struct, frozen=True):
    """Search facts by meaning, then by the text of category, key and value."""

    query: Annotated[RawText, Meta(max_length=2000, description="A question or words.")]
    limit: _Limit = 15
    as_of: FactsAsOf = None
    agent: AgentName = None


class _NamedFact(Struct, frozen=True):
    """A request about one fact that the agent sees."""

    key: _Key
    category: _AnyCategory = None
    agent: AgentName = None


class ForgetFact(_NamedFact, frozen=True):
    """Move a fact and its history to the trash of its vault."""


class VerifyFact(_NamedFact, frozen=True):
    """Confirm that a fact is still valid. An expired fact becomes valid again."""
