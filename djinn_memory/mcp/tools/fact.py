"""The tool for facts: a value under a category and a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.errors import UsageError
from djinn_memory.mcp.answers import told
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.tool import Tool
from djinn_memory.memories.facts import queries
from djinn_memory.memories.facts.requests import SortKey
from djinn_memory.models import Problem

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Short = Annotated[str, Meta(max_length=500)]


class FactArguments(Struct, forbid_unknown_fields=True):
    """Keep and look up single values: one value for a category and a key, with its history.

    Use it for what is asked for by name and changes by being replaced: a person's birthday, the
    version in production, a preferred language. Not for what needs a reason or a sentence of its
    own: `remember` that.
    set (category, key, value) keeps the value before in the history; the same value again notes
    that it still holds. What you understood has `source` conversation, as if not given; say
    user_explicit for what the user asked you to keep in these words.
    get (key, category if several have it); list (category, contains, sort, expired, page);
    search (query) by meaning; forget (key, category) moves it to the trash; verify (key) notes
    that it still holds.
    Example: {"action": "set", "category": "grace", "key": "birthday", "value": "9 December",
    "source": "user_explicit"}
    """

    action: Literal["set", "get", "list", "search", "forget", "verify"]
    category: Annotated[
        Name | None, Meta(description="What it is about, such as a person or a system.")
    ] = None
    key: Annotated[Name | None, Meta(description="Which fact of the category.")] = None
    value: Annotated[
        Annotated[str, Meta(max_length=20_000)] | None, Meta(description="What is known.")
    ] = None
    source: Annotated[
        Short | None,
        Meta(
            description="Where it comes from, which says how sure it is: tool_call, "
            "auto_discovery, user_explicit, conversation (if not given), web, guess."
        ),
    ] = None
    confidence: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="0 to 1, if otherwise than its source says."),
    ] = None
    expires: Annotated[Short | None, Meta(description="When it stops to hold: 30d.")] = None
    context: Annotated[Short | None, Meta(description="What was said, or where.")] = None
    shared: Annotated[bool, Meta(description="Into the vault that all agents see.")] = False
    query: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, Meta(description="What to search for.")
    ] = None
    contains: Annotated[Short | None, Meta(description="List only those with this text.")] = None
    sort: Annotated[
        SortKey, Meta(description="Of a list: by name, the latest first, or the surest first.")
    ] = "category"
    expired: Annotated[
        bool, Meta(description="List those too that have expired and hold no more.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 50
    page: Annotated[int, Meta(ge=1, le=100_000, description="Of a list, from 1.")] = 1


class FactAnswer(Struct):
    """Facts."""

    facts: Sequence[queries.Fact]
    done: str = ""
    """What was done, on a line."""
    total: int | None = None
    """How many there are on all pages of a list."""
    problems: Sequence[Problem] = ()


def fact(context: ClientContext, asked: FactArguments) -> FactAnswer:
    """As `djinn fact`."""
    djinn = context.djinn
    facts, own = djinn.facts, context.agent
    problems: list[Problem] = []
    match asked.action:
        case "set":
            stated = facts.set(
                _need(asked, "category"),
                _need(asked, "key"),
                _need(asked, "value"),
                agent=own,
                shared=asked.shared,
                # What an agent understood somebody to say is not what that person said.
                source=asked.source or "conversation",
                confidence=asked.confidence,
                expires=asked.expires,
                context=asked.context,
            )
            was = f"; it was {stated.before!r}" if stated.before is not None else ""
            answer = FactAnswer([stated.fact], f"{stated.action}{was}")
            problems = [*stated.problems]
        case "get":
            answer = FactAnswer([facts.get(asked.category, _need(asked, "key"), agent=own)])
        case "list":
            page = facts.list(
                agent=own,
                category=asked.category,
                search=asked.contains,
                sort=asked.sort,
                expired=asked.expired,
                limit=asked.limit,
                page=asked.page,
            )
            done = f"page {page.page} of {page.pages}" if page.pages > 1 else ""
            answer = FactAnswer(page.facts, done, page.total)
        case "search":
            query = _need(asked, "query")
            hits = facts.search(query, agent=own, limit=asked.limit)
            problems = [*hits.problems]
            answer = FactAnswer([hit.fact for hit in hits.facts])
        case "forget":
            gone = facts.forget(_need(asked, "key"), category=asked.category, agent=own)
            answer = FactAnswer([gone.fact], "moved to the trash")
        case "verify":
            stated = facts.verify(_need(asked, "key"), category=asked.category, agent=own)
            problems = [*stated.problems]
            answer = FactAnswer([stated.fact], "noted that it holds")
    answer.problems = list(dict.fromkeys([*djinn.problems, *problems]))
    return answer


def fact_text(known: FactAnswer) -> str:
    """A line for each."""
    lines = [f"({known.done})"] if known.done else []
    for one in known.facts:
        sure = "" if one.confidence is None else f", {one.confidence:.2f} sure"
        until = (
            f", {'expired' if one.expired else 'until'} {one.expires[:10]}" if one.expires else ""
        )
        lines.append(
            f"- {one.category}/{one.key} = {one.value} ({one.source or 'unknown'}{sure}{until}, "
            f"{one.vault})"
        )
    return "\n".join(
        [*(lines if known.facts else [*lines, "No such fact."]), *told(known.problems)]
    )


TOOL = Tool(
    "fact",
    "Facts",
    FactArguments,
    FactAnswer,
    fact,
    fact_text,
    writes=frozenset({"set", "forget", "verify"}),
    removes=True,
)


def _need(asked: FactArguments, name: str) -> Any:
    value = getattr(asked, name)
    if value is None:
        raise UsageError(f"fact: {asked.action} needs a {name}")
    return value
