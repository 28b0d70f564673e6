"""The tool for working memory: values that are kept for minutes, and tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from djinn_memory.mcp.answers import Answer
from djinn_memory.mcp.tool import tool
from djinn_memory.memories.working.requests import Task, TaskEntry, TaskStep, WorkingValue
from djinn_memory.system.plural import count


class WorkingAnswer(Answer, kw_only=True):
    """Values and tasks, or the values that were cleared."""

    values: Sequence[WorkingValue] = ()
    tasks: Sequence[TaskEntry] = ()
    task: Task | None = None
    step: TaskStep | None = None
    done: str = ""
    """A description of the action on one line."""


def _present(result: Any, arguments: Any) -> WorkingAnswer:
    match arguments.action:
        case "set":
            return WorkingAnswer(values=[result.value], done=f"kept until {result.value.expires}")
        case "get":
            others = " and ".join(result.also_from)
            done = f"{others} shared another, see `from`" if others else ""
            return WorkingAnswer(values=[result], done=done)
        case "list":
            return WorkingAnswer(values=result.values)
        case "clear":
            return WorkingAnswer(values=result.cleared, done=f"cleared {len(result.cleared)}")
        case "share":
            return WorkingAnswer(values=[result.value], done=f"shared with {arguments.to}")
        case "tasks":
            return WorkingAnswer(tasks=result.tasks)
        case "step":
            return WorkingAnswer(step=result, done=f"{result.title} is {result.status}")
    return WorkingAnswer(task=result)


def _value(value: WorkingValue) -> str:
    giver = f", from {value.given_by}" if value.given_by else ""
    return f"- {value.key} = {_json(value.value)} (until {value.expires}{giver})"


def _json(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _prepare(fields: dict[str, Any]) -> None:
    # A value belongs to the session only if neither a task nor a giver is named.
    if fields.get("task") or fields.get("giver"):
        fields.pop("session", None)


@tool(
    "Working memory",
    "working",
    actions=("set", "get", "list", "clear", "share", "tasks", "step", "resume"),
    present=_present,
    prepare=_prepare,
    names={"result": "value"},
    hints={
        "key": "The name of the value or step.",
        "value": "Any JSON.",
        "ttl": "Seconds to keep it.",
        "type": "",
        "status": "",
        "short": "Keep it for an hour; used three times, it becomes a note.",
        "append": "Append to the list under the key.",
        "task": "A task, instead of this session.",
        "from": "The agent who shared it.",
        "to": "The agent who gets a copy.",
        "all": "List all sessions and tasks.",
        "after": "Steps that must be completed first.",
    },
)
def working(answer: WorkingAnswer) -> list[str]:
    """Keep values and the steps of tasks for minutes or hours.

    Use it for temporary values: an intermediate result, your position in a long piece of work. A
    task outlives the session: resume shows its values and next steps. Not for lasting knowledge:
    `remember` it.
    {actions}
    Example: {"action": "set", "key": "branch", "value": "fix-login", "ttl": 3600}
    """
    lines = [answer.done] if answer.done else []
    lines += map(_value, answer.values)
    task = answer.task
    lines += [
        f"- task {entry.task}: {entry.status}, {entry.completed} of {count(entry.total, 'step')}"
        for entry in (*answer.tasks, *([task] if task else []))
    ]
    if task:
        lines += map(_value, task.state)
        lines += [f"- step {step.title}: {step.status} {_json(step.result)}" for step in task.steps]
        lines.append(f"Next: {', '.join(task.next) or 'nothing'}")
    return lines or ["No values."]
