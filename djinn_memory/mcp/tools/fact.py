"""The tool for facts: values with a category and a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from djinn_memory.mcp.answers import Answer
from djinn_memory.mcp.tool import number, optional_text, tool
from djinn_memory.memories.facts.queries import Fact


class FactAnswer(Answer):
    """The facts that the action returns or changes."""

    facts: Sequence[Fact]
    done: str = ""
    """A description of the action on one line."""
    total: int | None = None
    """The number of facts on all pages of a list."""


def _present(result: Any, arguments: Any) -> FactAnswer:
    problems = getattr(result, "problems", ())
    match arguments.action:
        case "set":
            before = f"; it was {result.before!r}" if result.before is not None else ""
            done = "recorded in its history" if result.action == "recorded" else result.action
            return FactAnswer([result.fact], f"{done}{before}", problems=problems)
        case "get":
            return FactAnswer([result])
        case "list":
            done = f"page {result.page} of {result.pages}" if result.pages > 1 else ""
            return FactAnswer(result.facts, done, result.total)
        case "search":
            return FactAnswer([hit.fact for hit in result.facts], problems=problems)
        case "forget":
            return FactAnswer([result.fact], "moved to the trash")
    return FactAnswer([result.fact], "confirmed", problems=problems)


def _line(fact: Fact) -> str:
    about = [fact.source or "unknown"]
    if fact.confidence is not None:
        about.append(f"{fact.confidence:.2f} confidence")
    if fact.holds:
        about.append(fact.holds)
    if fact.expires:
        about.append(f"{'expired' if fact.expired else 'until'} {fact.expires[:10]}")
    about += [f"domain {fact.domain}"] if fact.domain else []
    about.append(fact.vault)
    return f"- {fact.category}/{fact.key} = {fact.value} ({', '.join(about)})"


def _prepare(fields: dict[str, Any]) -> None:
    # What an agent understood somebody to say is not what that person said.
    if "value" in fields:
        fields.setdefault("source", "conversation")


@tool(
    "Facts",
    "facts",
    actions=("set", "get", "list", "search", "forget", "verify"),
    present=_present,
    prepare=_prepare,
    without=frozenset({"order", "domain"}),
    names={"search": "contains"},
    hints={
        "category": "What it is about, such as a person.",
        "key": "",
        "value": "",
        "query": "",
        "confidence": "0 to 1. Default: by the source.",
        "expires": "30d or 2026-12-31.",
        "context": "What was said about it.",
        "shared": "Write it for all agents.",
        "expired": "Include expired facts.",
        "contains": "Only with this text.",
        "sort": "",
        "page": "",
        "as_of": "What held on this day.",
        "valid_from": "When it began to hold. Default: now.",
        "valid_to": "Its last day.",
        "evidence": "Notes that say so.",
    },
    arguments={
        "limit": number(1, 200, default=50),
        "source": optional_text(
            500,
            "conversation (the default), user_explicit if the user asked you to keep it, "
            "tool_call, auto_discovery, web or guess.",
        ),
    },
)
def fact(answer: FactAnswer) -> list[str]:
    """Keep and look up single values: one value for a category and a key, with its history.

    Use it for values that are looked up by name and replaced when they change: a birthday, the
    version in production. Not for knowledge that needs a reason or a sentence: `remember` it.
    {actions}
    forget moves it to the trash; verify confirms it.
    Example: {"action": "set", "category": "grace", "key": "birthday", "value": "9 December",
    "source": "user_explicit"}
    """
    lines = [f"({answer.done})"] if answer.done else []
    return lines + (list(map(_line, answer.facts)) or ["No such fact."])
