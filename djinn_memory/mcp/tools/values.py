"""The tools for values with a name: fact, working."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from djinn_memory.mcp.answers import Answer
from djinn_memory.mcp.tool import number, optional_text, tool
from djinn_memory.memories.facts.queries import Fact
from djinn_memory.memories.working.requests import Task, TaskEntry, TaskStep, WorkingValue
from djinn_memory.system.plural import count


class _FactAnswer(Answer):
    """The facts that the action returns or changes."""

    facts: Sequence[Fact]
    done: str = ""
    """A description of the action on one line."""
    total: int | None = None
    """The number of facts on all pages of a list."""


def _present_facts(result: Any, arguments: Any) -> _FactAnswer:
    problems = getattr(result, "problems", ())
    match arguments.action:
        case "set":
            before = f"; it was {result.before!r}" if result.before is not None else ""
            done = "recorded in its history" if result.action == "recorded" else result.action
            return _FactAnswer([result.fact], f"{done}{before}", problems=problems)
        case "get":
            return _FactAnswer([result])
        case "list":
            done = f"page {result.page} of {result.pages}" if result.pages > 1 else ""
            return _FactAnswer(result.facts, done, result.total)
        case "search":
            return _FactAnswer([hit.fact for hit in result.facts], problems=problems)
        case "forget":
            return _FactAnswer([result.fact], "moved to the trash")
    return _FactAnswer([result.fact], "confirmed", problems=problems)


def _fact_line(fact: Fact) -> str:
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


def as_understood(fields: dict[str, Any]) -> None:
    """A value that an agent understood from a conversation is not a person's own statement."""
    if "value" in fields:
        fields.setdefault("source", "conversation")


@tool(
    "facts",
    actions=("set", "get", "list", "search", "forget", "verify"),
    present=_present_facts,
    prepare=as_understood,
    without=frozenset({"order", "domain"}),
    names={"skip": "offset"},
    hints={"expires": "30d or 2026-12-31.", "search": "Only with this text."},
    arguments={
        "limit": number(1, 200, default=50),
        "source": optional_text(
            500, "conversation (default), or user_explicit if the user asked for it."
        ),
    },
)
def fact(answer: _FactAnswer) -> list[str]:
    """Keep and look up single values: one for a category and a key, with its history.

    Use it for values that are replaced when they change: a birthday, the version in production.
    Not for what needs a reason or a sentence: `remember` it.
    {required}
    Example: {"action": "set", "category": "grace", "key": "birthday", "value": "9 December"}
    """
    lines = [f"({answer.done})"] if answer.done else []
    return lines + (list(map(_fact_line, answer.facts)) or ["No such fact."])


class _WorkingAnswer(Answer, kw_only=True):
    """Values and tasks, or the values that were cleared."""

    values: Sequence[WorkingValue] = ()
    tasks: Sequence[TaskEntry] = ()
    task: Task | None = None
    step: TaskStep | None = None
    done: str = ""
    """A description of the action on one line."""


def _present_working(result: Any, arguments: Any) -> _WorkingAnswer:
    match arguments.action:
        case "set":
            return _WorkingAnswer(values=[result.value], done=f"kept until {result.value.expires}")
        case "get":
            others = " and ".join(result.also_from)
            done = f"{others} shared another, see `from`" if others else ""
            return _WorkingAnswer(values=[result], done=done)
        case "list":
            return _WorkingAnswer(values=result.values)
        case "clear":
            return _WorkingAnswer(values=result.cleared, done=f"cleared {len(result.cleared)}")
        case "share":
            return _WorkingAnswer(values=[result.value], done=f"shared with {arguments.to}")
        case "tasks":
            return _WorkingAnswer(tasks=result.tasks)
        case "step":
            return _WorkingAnswer(step=result, done=f"{result.title} is {result.status}")
    return _WorkingAnswer(task=result)


def _value_line(value: WorkingValue) -> str:
    giver = f", from {value.given_by}" if value.given_by else ""
    return f"- {value.key} = {_json(value.value)} (until {value.expires}{giver})"


def _json(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _prepare_value(fields: dict[str, Any]) -> None:
    # A value belongs to the session only if neither a task nor a giver is named.
    if fields.get("task") or fields.get("giver"):
        fields.pop("session", None)


@tool(
    "working",
    actions=("set", "get", "list", "clear", "share", "tasks", "step", "resume"),
    present=_present_working,
    prepare=_prepare_value,
    names={"result": "value"},
    hints={
        "value": "Any JSON.",
        "ttl": "In seconds.",
        "short": "For an hour; a note after three uses.",
        "task": "Instead of this session.",
        "from": "The agent who shared it.",
        "all": "Of all sessions and tasks.",
        "after": "Steps to complete first.",
    },
)
def working(answer: _WorkingAnswer) -> list[str]:
    """Keep values and the steps of tasks for minutes or hours.

    Use it for an intermediate result, or your position in a long piece of work. A task outlives the
    session: resume shows its values and next steps. Not for lasting knowledge: `remember` it.
    {required}
    """
    lines = [answer.done] if answer.done else []
    lines += map(_value_line, answer.values)
    task = answer.task
    lines += [
        f"- task {entry.task}: {entry.status}, {entry.completed} of {count(entry.total, 'step')}"
        for entry in (*answer.tasks, *([task] if task else []))
    ]
    if task:
        lines += map(_value_line, task.state)
        lines += [f"- step {step.title}: {step.status} {_json(step.result)}" for step in task.steps]
        lines.append(f"Next: {', '.join(task.next) or 'nothing'}")
    return lines or ["No values."]
