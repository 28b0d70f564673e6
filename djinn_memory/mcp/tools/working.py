"""The tool for what is held for minutes: values of the session, and the state of tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.errors import UsageError
from djinn_memory.mcp.answers import told
from djinn_memory.mcp.context import Context
from djinn_memory.mcp.tool import Tool
from djinn_memory.memories.tasks import Status, Step, Task, TaskEntry
from djinn_memory.memories.values import Value
from djinn_memory.models import Problem
from djinn_memory.settings import LONGEST_TTL
from djinn_memory.wording import count

Key = Annotated[str, Meta(min_length=1, max_length=200)]


class Working(Struct, forbid_unknown_fields=True):
    """Hold a value for minutes, for this session or for a task; it is not a memory.

    Use it for what is needed again soon and then never: an intermediate result, where you are in a
    long piece of work. A task's values and steps outlive the session, so that another can resume
    it. Not for what matters in weeks: `remember` that.
    set (key, value, ttl), get (key), list, clear (key, or all), share (key, to) hands a copy to
    another agent; tasks lists tasks; step (task, key, status) adds a step of a task or says how it
    goes; resume (task) shows all of a task and what is next.
    Example: {"action": "set", "key": "branch", "value": "fix-login", "ttl": 3600}
    """

    action: Literal["set", "get", "list", "clear", "share", "tasks", "step", "resume"]
    key: Annotated[Key | None, Meta(description="The name of a value, or of a step.")] = None
    value: Annotated[
        Any, Meta(description="What to keep: text, or any JSON; for a step, what came of it.")
    ] = None
    ttl: Annotated[
        Annotated[int, Meta(ge=1, le=LONGEST_TTL)] | None,
        Meta(description="Seconds to keep it; some minutes if left out."),
    ] = None
    task: Annotated[
        Key | None, Meta(description="The task it belongs to; else it belongs to the session.")
    ] = None
    status: Annotated[Status | None, Meta(description="How a step goes.")] = None
    to: Annotated[Key | None, Meta(description="The agent to hand a value to.")] = None


class Held(Struct):
    """What is held now, or was until it was cleared."""

    values: Sequence[Value] = ()
    tasks: Sequence[TaskEntry] = ()
    task: Task | None = None
    step: Step | None = None
    done: str = ""
    """What was done, on a line."""
    problems: Sequence[Problem] = ()


def working(context: Context, asked: Working) -> Held:
    """As `djinn working`."""
    djinn = context.djinn
    verb = djinn.working
    own: dict[str, Any] = {"agent": context.agent}
    place = own | ({"task": asked.task} if asked.task else {"session": context.session})
    match asked.action:
        case "set":
            if asked.value is None:
                raise UsageError("working: set needs a value")
            made = verb.set(_key(asked), asked.value, ttl=asked.ttl, **place)
            held = Held([made.now], done=f"kept until {made.now.expires}")
        case "get":
            held = Held([verb.get(_key(asked), **place)])
        case "list":
            held = Held(verb.list(**place))
        case "clear":
            gone = verb.clear(asked.key, **place)
            held = Held(gone, done=f"cleared {len(gone)}")
        case "share":
            if asked.to is None:
                raise UsageError("working: share needs `to`, the agent who gets a copy")
            given = verb.share(_key(asked), asked.to, ttl=asked.ttl, **place)
            held = Held([given.now], done=f"handed to {asked.to}")
        case "tasks":
            held = Held(tasks=verb.tasks(**own))
        case "step":
            status = asked.status or "pending"
            step = verb.step(_task(asked), _key(asked), status, asked.value, ttl=asked.ttl, **own)
            held = Held(step=step, done=f"{step.title} is {step.status}")
        case "resume":
            held = Held(task=verb.resume(_task(asked), **own))
    held.problems = list(djinn.problems)
    return held


def working_text(held: Held) -> str:
    """A line for each thing."""
    lines = [held.done] if held.done else []
    lines += [_value(one) for one in held.values]
    for task in (*held.tasks, *([held.task] if held.task else [])):
        lines.append(
            f"- task {task.task}: {task.status}, {task.completed} of {count(task.total, 'step')}"
        )
    if held.task:
        lines += [_value(one) for one in held.task.state]
        lines += [
            f"- step {one.title}: {one.status} {_json(one.result)}" for one in held.task.steps
        ]
        lines.append(f"Next: {', '.join(held.task.next) or 'nothing'}")
    return "\n".join([*(lines or ["Nothing is held."]), *told(held.problems)])


TOOL = Tool(
    "working",
    "Working memory",
    Working,
    Held,
    working,
    working_text,
    writes=frozenset({"set", "clear", "share", "step"}),
    removes=True,
)


def _key(asked: Working) -> str:
    if asked.key is None:
        raise UsageError(f"working: {asked.action} needs a key")
    return asked.key


def _task(asked: Working) -> str:
    if asked.task is None:
        raise UsageError(f"working: {asked.action} needs a task")
    return asked.task


def _value(one: Value) -> str:
    given = f", from {one.given_by}" if one.given_by else ""
    return f"- {one.key} = {_json(one.value)} (until {one.expires}{given})"


def _json(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
