"""The tool for what is held for minutes: values of the session, and the state of tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.errors import UsageError
from djinn_memory.home.settings import LONGEST_TTL
from djinn_memory.mcp.answers import told
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.tool import Tool
from djinn_memory.memories.working.requests import (
    StepStatus,
    Task,
    TaskEntry,
    TaskStep,
    ValueType,
    WorkingValue,
)
from djinn_memory.models import Problem
from djinn_memory.system.plural import count

Key = Annotated[str, Meta(min_length=1, max_length=200)]


class WorkingArguments(Struct, forbid_unknown_fields=True, rename={"giver": "from"}):
    """Hold a value for minutes, for this session or for a task; it is not a memory.

    Use it for what is needed again soon and then never: an intermediate result, where you are in a
    long piece of work. A task's values and steps outlive the session, so that another can resume
    it. Set it `short` when you are not sure whether it will matter: what is used three times within
    the hour becomes a note. Not for what surely matters in weeks: `remember` that.
    set (key, value, ttl; append adds to a list), get (key), list, clear (key, or all that list
    shows), share (key, to) hands a copy to another agent; get and clear (from) are of what one
    handed to you; tasks lists tasks; step (task, key, status, after) adds a step of a task or says
    how it goes; resume (task) shows all of a task and what is next.
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
    giver: Annotated[Key | None, Meta(description="The agent who handed over what is meant.")] = (
        None
    )
    short: Annotated[
        bool, Meta(description="Keep it an hour; used three times, upkeep makes a note of it.")
    ] = False
    type: Annotated[ValueType | None, Meta(description="What a value is.")] = None
    append: Annotated[
        bool, Meta(description="Add it to the list there, as a turn of a conversation.")
    ] = False
    status: Annotated[StepStatus | None, Meta(description="How a step goes.")] = None
    after: Annotated[
        list[Key], Meta(max_length=100, description="The steps to be completed before a step.")
    ] = []
    all: Annotated[bool, Meta(description="List what all sessions and tasks hold.")] = False
    to: Annotated[Key | None, Meta(description="The agent to hand a value to.")] = None


class WorkingAnswer(Struct):
    """What is held now, or was until it was cleared."""

    values: Sequence[WorkingValue] = ()
    tasks: Sequence[TaskEntry] = ()
    task: Task | None = None
    step: TaskStep | None = None
    done: str = ""
    """What was done, on a line."""
    problems: Sequence[Problem] = ()


def working(context: ClientContext, asked: WorkingArguments) -> WorkingAnswer:
    """As `djinn working`."""
    djinn = context.djinn
    verb = djinn.working
    own: dict[str, Any] = {"agent": context.agent}
    place = own | ({"task": asked.task} if asked.task else {"session": context.session})
    there = place | {"giver": asked.giver, "session": None} if asked.giver else place
    match asked.action:
        case "set":
            if asked.value is None:
                raise UsageError("working: set needs a value")
            made = verb.set(
                _key(asked), asked.value, ttl=asked.ttl, short=asked.short, type=asked.type,
                append=asked.append, **place,
            )  # fmt: skip
            held = WorkingAnswer([made.value], done=f"kept until {made.value.expires}")
        case "get":
            found = verb.get(_key(asked), **there)
            others = " and ".join(found.also_from)
            held = WorkingAnswer(
                [found], done=f"{others} handed over another, see `from`" if others else ""
            )
        case "list":
            held = WorkingAnswer(
                (verb.list(**own, all=True) if asked.all else verb.list(**place)).values
            )
        case "clear":
            gone = verb.clear(asked.key, **there).cleared
            held = WorkingAnswer(gone, done=f"cleared {len(gone)}")
        case "share":
            if asked.to is None:
                raise UsageError("working: share needs `to`, the agent who gets a copy")
            given = verb.share(_key(asked), asked.to, ttl=asked.ttl, **place)
            held = WorkingAnswer([given.value], done=f"handed to {asked.to}")
        case "tasks":
            held = WorkingAnswer(tasks=verb.tasks(**own).tasks)
        case "step":
            status = asked.status or "pending"
            step = verb.step(
                _task(asked), _key(asked), status, asked.value, after=asked.after, ttl=asked.ttl,
                **own,
            )  # fmt: skip
            held = WorkingAnswer(step=step, done=f"{step.title} is {step.status}")
        case "resume":
            held = WorkingAnswer(task=verb.resume(_task(asked), **own))
    held.problems = list(djinn.problems)
    return held


def working_text(held: WorkingAnswer) -> str:
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
    WorkingArguments,
    WorkingAnswer,
    working,
    working_text,
    writes=frozenset({"set", "clear", "share", "step"}),
    removes=True,
)


def _key(asked: WorkingArguments) -> str:
    if asked.key is None:
        raise UsageError(f"working: {asked.action} needs a key")
    return asked.key


def _task(asked: WorkingArguments) -> str:
    if asked.task is None:
        raise UsageError(f"working: {asked.action} needs a task")
    return asked.task


def _value(one: WorkingValue) -> str:
    given = f", from {one.given_by}" if one.given_by else ""
    return f"- {one.key} = {_json(one.value)} (until {one.expires}{given})"


def _json(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
