"""The tool for facts: a value under a category and a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.tool import Argument, Tool
from djinn_memory.memories.facts.queries import Fact
from djinn_memory.models import Problem


class FactAnswer(Struct):
    """Facts, as far as the action concerns them."""

    facts: Sequence[Fact]
    done: str = ""
    """What was done, on one line."""
    total: int | None = None
    """How many facts there are on all pages of a list."""
    problems: Sequence[Problem] = ()


def _present(result: Any, arguments: Any) -> FactAnswer:
    problems = getattr(result, "problems", ())
    match arguments.action:
        case "set":
            before = f"; it was {result.before!r}" if result.before is not None else ""
            return FactAnswer([result.fact], f"{result.action}{before}", problems=problems)
        case "get":
            return FactAnswer([result])
        case "list":
            done = f"page {result.page} of {result.pages}" if result.pages > 1 else ""
            return FactAnswer(result.facts, done, result.total)
        case "search":
            return FactAnswer([hit.fact for hit in result.facts], problems=problems)
        case "forget":
            return FactAnswer([result.fact], "moved to the trash")
    return FactAnswer([result.fact], "noted that it holds", problems=problems)


def _text(answer: FactAnswer) -> str:
    lines = [f"({answer.done})"] if answer.done else []
    lines += map(_line, answer.facts)
    lines += [] if answer.facts else ["No such fact."]
    return "\n".join([*lines, *problem_lines(answer.problems)])


def _line(fact: Fact) -> str:
    about = [fact.source or "unknown"]
    if fact.confidence is not None:
        about.append(f"{fact.confidence:.2f} sure")
    if fact.expires:
        about.append(f"{'expired' if fact.expired else 'until'} {fact.expires[:10]}")
    about.append(fact.vault)
    return f"- {fact.category}/{fact.key} = {fact.value} ({', '.join(about)})"


def _prepare(fields: dict[str, Any]) -> None:
    # What an agent understood somebody to say is not what that person said.
    if "value" in fields:
        fields.setdefault("source", "conversation")


TOOL = Tool(
    name="fact",
    title="Facts",
    operations={
        "set": "facts.set",
        "get": "facts.get",
        "list": "facts.list",
        "search": "facts.search",
        "forget": "facts.forget",
        "verify": "facts.verify",
    },
    guidance="""\
Keep and look up single values: one value for a category and a key, with its history.

Use it for what is asked for by name and changes by being replaced: a person's birthday, the \
version in production, a preferred language. Not for what needs a reason or a sentence of its own: \
`remember` that.
{actions}
A value that you understood from what was said has the `source` conversation, which is the \
default. Use user_explicit for what the user asked you to keep in these words.
Example: {"action": "set", "category": "grace", "key": "birthday", "value": "9 December",
"source": "user_explicit"}""",
    answer=FactAnswer,
    present=_present,
    text=_text,
    prepare=_prepare,
    without=frozenset({"order"}),
    names={"search": "contains"},
    arguments={
        "limit": Argument(
            Annotated[int, Meta(ge=1, le=200, description="How many facts at most.")], 50
        ),
        "page": Argument(
            Annotated[int, Meta(ge=1, le=100_000, description="Which page, from 1.")], 1
        ),
        "source": Argument(
            Annotated[
                Annotated[str, Meta(max_length=500)] | None,
                Meta(
                    description="Where the value comes from: tool_call, auto_discovery, "
                    "user_explicit, conversation, web, guess; conversation if not given."
                ),
            ]
        ),
    },
)
