"""djinn working set, get, list, clear, share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import UsageError
from djinn_memory.memories.working.requests import (
    ClearValues,
    GetValue,
    ListWorkingValues,
    ResumeTask,
    SetStep,
    SetValue,
    ShareValue,
    StepStatus,
)
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.working.requests import (
        ClearedValues,
        Task,
        TaskEntries,
        TaskStep,
        WorkingChange,
        WorkingLookup,
        WorkingValue,
        WorkingValues,
    )

WIDEST = 60
"""Characters of a value in a list."""

KEY = Field(complete=candidates.working_keys)
GIVER = Field("NAME", candidates.agents)


class SetOptions(Struct, frozen=True):
    """Options of `djinn working set` beside those of a value."""

    status: Annotated[
        StepStatus | None, Meta(description="Add a step to the task, or say how it goes.")
    ] = None
    after: Annotated[
        tuple[str, ...], Meta(description="A step that must be completed before it; repeatable.")
    ] = ()
    json_value: Annotated[bool, Meta(description="The value is JSON, not text.")] = False


def _set(call: Call) -> WorkingChange | TaskStep:
    from djinn_memory.memories.working.values import from_json

    given = call.values
    if given["value"] is not None and call.view.json_value:
        given["value"] = from_json(given["value"])
    if not (call.view.status or call.view.after):
        if given["value"] is None:
            raise UsageError(f"{given['key']!r} has no value; give a value, or - for stdin")
        return call.djinn.working.set(call.request)
    unfit = ("session", "short", "type", "append")
    if not (given["task"] and call.view.status) or any(given[name] for name in unfit):
        raise UsageError("a step takes --task and --status, and of the rest --after and --ttl")
    call.schema = "working.step"
    return call.djinn.working.step(call.convert(SetStep, result=given["value"]))


@command(
    "working.set",
    SetValue,
    fields={
        "key": KEY._replace(help="A name on one line; with --status that of a step."),
        "value": Field(
            optional=True,
            stdin="value",
            help="Text; - reads it from stdin. For a step, its result.",
        ),
        "after": Field("STEP"),
    },
    view=SetOptions,
    run=_set,
    schemas={"working.set": "working.set", "working.step": "working.step"},
    examples=[
        "djinn working set cursor 1204 --ttl 60",
        "djinn working set plan - < plan",
        'djinn working set finding "The mole\'s lamp is dark." --short --type observation',
        'djinn working set chat "user: hello" --append',
        "djinn working set build --task deploy --status completed",
    ],
)
def set_value(call: Call, answer: Any) -> None:
    """Keep a value under a key for a while, or set a step of a task.

    A value is kept for 300 seconds, with --task until nothing of the task changed for 7 days. It
    replaces the value that was under the key, which is printed. It is no note, and no search finds
    it.
    """
    if call.schema:
        say(f"{clean(answer.title)}  {answer.status}, a step of task {clean(call.values['task'])}")
        return
    say(f"{clean(answer.value.key)}  {_place(answer.value)}, until {answer.value.expires}")
    if answer.replaced:
        talk(f"replaced: {_preview(answer.replaced.value)}")


def _get(call: Call) -> WorkingLookup | Task:
    if call.values["key"] is not None:
        return call.djinn.working.get(call.request)
    if call.values["task"] is None or call.values["session"] or call.values["giver"]:
        raise UsageError("nothing names what to print; give a key, or --task alone")
    call.schema = "working.task"
    return call.djinn.working.resume(call.convert(ResumeTask))


@command(
    "working.get",
    GetValue,
    fields={"key": KEY._replace(optional=True), "giver": GIVER},
    run=_get,
    schemas={"working.get": "working.get", "working.task": "working.resume"},
    examples=[
        "djinn working get cursor",
        "djinn working get --task deploy",
        "djinn working get plan --from grace --json",
    ],
)
def get(call: Call, answer: Any) -> None:
    """Print a value, or with --task alone a whole task.

    Printing a value counts as a use of it.
    """
    if call.schema:
        _print_task(answer)
        return
    if answer.given_by:
        talk(f"from {answer.given_by}")
    if answer.also_from:
        others = " and ".join(map(clean, answer.also_from))
        talk(f"{others} handed over another; --from shows it")
    say(output.clean_lines(_text(answer.value, indent=True)))


class ListOptions(Struct, frozen=True):
    """What `djinn working list` lists."""

    tasks: Annotated[bool, Meta(description="List the tasks, not the values.")] = False


def _list(call: Call) -> WorkingValues | TaskEntries:
    if not call.view.tasks:
        return call.djinn.working.list(call.request)
    call.schema = "working.tasks"
    return call.djinn.working.tasks(agent=call.request.agent)


@command(
    "working.list",
    ListWorkingValues,
    view=ListOptions,
    run=_list,
    schemas={"working.list": "working.list", "working.tasks": "working.tasks"},
    examples=["djinn working list", "djinn working list --tasks --json"],
)
def list_values(call: Call, answer: Any) -> None:
    """List what a session or a task holds, and what other agents handed over."""
    if call.schema:
        if not answer.tasks:
            talk("there is no task")
        output.columns(
            [
                [task.task, task.status, f"{task.completed} of {task.total}", task.updated]
                for task in answer.tasks
            ],
            head=("task", "status", "steps", "updated"),
        )
        return
    if not answer.values:
        talk("nothing is held there")
    output.columns(
        [
            [value.key, _place(value), value.expires, _preview(value.value)]
            for value in answer.values
        ],
        head=("key", "of", "expires", "value"),
    )


def _clear(call: Call) -> ClearedValues:
    from djinn_memory.memories.working.requests import ClearedValues

    request = call.request
    scopes = {"session": request.session, "task": request.task, "from": request.giver}
    about = next(
        (f"{name} {scopes[name]}" for name in ("task", "from", "session") if scopes[name]),
        "the current session",
    )
    if not (request.task or request.giver):
        about += ", what was set outside of any, and what was handed over"
    if request.key is None and not call.confirmed("Forget all of it?", about, "forget it"):
        return ClearedValues([])
    return call.djinn.working.clear(request)


@command(
    "working.clear",
    ClearValues,
    fields={"key": KEY, "giver": GIVER},
    view=Confirm,
    run=_clear,
    examples=["djinn working clear cursor", "djinn working clear --task deploy --yes"],
)
def clear(call: Call, answer: ClearedValues) -> None:
    """Forget the value under a key, or all that `djinn working list` shows."""
    say(f"forgot {count(len(answer.cleared), 'value')}")


@command(
    "working.share",
    ShareValue,
    fields={"key": KEY, "to": Field("AGENT", candidates.agents)},
    examples=[
        "djinn working share plan --to grace",
        "djinn working share branch --task deploy --to grace --ttl 3600",
    ],
)
def share(call: Call, answer: WorkingChange) -> None:
    """Give another agent a copy of a value.

    The other agent sees whose value it was.
    """
    request = call.request
    say(f"{clean(request.key)}  for {clean(request.to)}, until {answer.value.expires}")


def _print_task(task: Task) -> None:
    completed = f"{task.completed} of {count(task.total, 'step')} completed"
    say(f"{clean(task.task)}: {task.status}, {completed}")
    for value in task.state:
        say(f"  {clean(value.key)} = {clean(_text(value.value))}")
    for step in task.steps:
        after = f" (after {', '.join(map(clean, step.after))})" if step.after else ""
        result = f": {clean(_text(step.result))}" if step.result is not None else ""
        say(f"  {step.status:9}  {clean(step.title)}{after}{result}")
    if task.next:
        say(f"next: {', '.join(map(clean, task.next))}")


def _place(value: WorkingValue) -> str:
    """What a value belongs to."""
    if value.task is not None:
        place = f"task {clean(value.task)}"
    elif value.given_by:
        place = f"from {value.given_by}"
    else:
        place = f"session {clean(value.session or '')}"
    return f"{place}, short-term {value.type}" if value.tier == "short" else place


def _preview(value: Any) -> str:
    return shortened(_text(value), WIDEST)


def _text(value: Any, *, indent: bool = False) -> str:
    """A text as it is, anything else as JSON."""
    import msgspec

    if isinstance(value, str):
        return value
    data = msgspec.json.encode(value)
    return (msgspec.json.format(data) if indent else data).decode()
