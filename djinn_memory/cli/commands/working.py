"""djinn session working set, get, list, clear, share."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, say_verbatim, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import UsageError
from djinn_memory.memories.working import requests
from djinn_memory.system.plural import count

WIDEST = 60
"""Maximum characters of a value in a list."""

KEY = Field(complete=candidates.working_keys)
GIVER = Field("NAME", candidates.agents)


class _SetOptions(Struct, frozen=True):
    """Options of `djinn session working set` in addition to those of a value."""

    status: Annotated[
        requests.StepStatus | None,
        Meta(description="Add a step to the task, or set the status of the step."),
    ] = None
    after: Annotated[
        tuple[str, ...], Meta(description="A step that must be completed first; repeatable.")
    ] = ()
    json_value: Annotated[bool, Meta(description="Parse the value as JSON.")] = False


def _run_set(call: Call) -> Any:
    from djinn_memory.operations.checks import from_json

    given = call.values
    if given["value"] is not None and call.view.json_value:
        given["value"] = from_json(given["value"])
    if not (call.view.status or call.view.after):
        if given["value"] is None:
            raise UsageError(
                f"{given['key']!r} has no value; give one, or pass - to read it from stdin"
            )
        return call.run()
    unfit = ("session", "short", "type", "append")
    if not (given["task"] and call.view.status) or any(given[name] for name in unfit):
        raise UsageError(
            "--status sets a step and needs --task; only --after and --ttl can be added"
        )
    call.schema = "session.working.step"
    return call.run("working.step", result=given["value"])


@command(
    "working.set",
    fields={
        "key": KEY._replace(
            help="The name of the value, on one line. With --status, the name of a step."
        ),
        "value": Field(
            optional=True,
            stdin="value",
            help="The text. `-` reads it from stdin. For a step, its result.",
        ),
        "after": Field("STEP"),
    },
    view=_SetOptions,
    run=_run_set,
    schemas={"session.working.set": "working.set", "session.working.step": "working.step"},
    also={"working.step": ""},
)
def _set(call: Call, answer: Any) -> None:
    """Store a value under a key for a limited time, or set a step of a task.

    A value is kept for 300 seconds. A value of a task (--task) is kept until the task has not
    changed for 7 days. A value that was under the key before is replaced and printed. A value is
    not a note, so searches do not find it.

    Examples:
        djinn session working set cursor 1204 --ttl 60
        djinn session working set plan - < plan
        djinn session working set finding "The mole's lamp is dark." --short --type observation
        djinn session working set chat "user: hello" --append
        djinn session working set build --task deploy --status completed
    """
    if call.schema:
        say(f"{clean(answer.title)}  {answer.status}, a step of task {clean(call.values['task'])}")
        return
    say(f"{clean(answer.value.key)}  {_place(answer.value)}, until {answer.value.expires}")
    if answer.replaced:
        talk(f"replaced: {_preview(answer.replaced.value)}")


def _run_get(call: Call) -> Any:
    if call.values["key"] is not None:
        return call.run()
    if call.values["task"] is None or call.values["session"] or call.values["giver"]:
        raise UsageError("no key was given; give a key, or pass --task to print the whole task")
    call.schema = "session.working.task"
    return call.run("working.resume")


@command(
    "working.get",
    fields={"key": KEY._replace(optional=True), "giver": GIVER},
    run=_run_get,
    schemas={"session.working.get": "working.get", "session.working.task": "working.resume"},
    also={"working.resume": ""},
)
def _get(call: Call, answer: Any) -> None:
    """Print a value, or with --task alone a whole task.

    Printing a value counts as a use of it.

    Examples:
        djinn session working get cursor
        djinn session working get --task deploy
        djinn session working get plan --from grace --json
    """
    if call.schema:
        _print_task(answer)
        return
    if answer.given_by:
        talk(f"from {answer.given_by}")
    if answer.also_from:
        others = " and ".join(map(clean, answer.also_from))
        talk(f"{others} shared another value under this key; pass --from to print it")
    say_verbatim(output.clean_lines(_text(answer.value, indent=True)))


class _ListOptions(Struct, frozen=True):
    """Options of `djinn session working list`."""

    tasks: Annotated[bool, Meta(description="List tasks instead of values.")] = False


def _run_list(call: Call) -> Any:
    if not call.view.tasks:
        return call.run()
    call.schema = "session.working.tasks"
    return call.run("working.tasks")


@command(
    "working.list",
    view=_ListOptions,
    run=_run_list,
    schemas={"session.working.list": "working.list", "session.working.tasks": "working.tasks"},
    also={"working.tasks": "--tasks"},
)
def _list(call: Call, answer: Any) -> None:
    """List the values of a session or task, and values that other agents shared.

    Examples:
        djinn session working list
        djinn session working list --tasks --json
    """
    if call.schema:
        rows = [
            (task.task, task.status, f"{task.completed} of {task.total}", task.updated)
            for task in answer.tasks
        ]
        output.columns(rows, head="task status steps updated", empty="No tasks.")
        return
    rows = [(each.key, _place(each), each.expires, _preview(each.value)) for each in answer.values]
    output.columns(rows, head="key of expires value", empty="No values.")


def _run_clear(call: Call) -> Any:
    request = call.request
    scopes = {"session": request.session, "task": request.task, "from": request.giver}
    about = next(
        (f"{name} {scopes[name]}" for name in ("task", "from", "session") if scopes[name]),
        "the values of the current session",
    )
    if not (request.task or request.giver):
        about += ", values set outside any session, and values that other agents shared"
    if request.key is None and not call.confirmed("Clear all of these values?", about):
        return requests.ClearedValues([])
    return call.run()


@command("working.clear", fields={"key": KEY, "giver": GIVER}, view=Confirm, run=_run_clear)
def _clear(call: Call, answer: requests.ClearedValues) -> None:
    """Remove a value, or all values that `djinn session working list` shows.

    Examples:
        djinn session working clear cursor
        djinn session working clear --task deploy --yes
    """
    say(f"cleared {count(len(answer.cleared), 'value')}")


@command("working.share", fields={"key": KEY, "to": Field("AGENT", candidates.agents)})
def _share(call: Call, answer: requests.WorkingChange) -> None:
    """Give another agent a copy of a value.

    The other agent sees who shared the value.

    Examples:
        djinn session working share plan --to grace
        djinn session working share branch --task deploy --to grace --ttl 3600
    """
    request = call.request
    say(f"{clean(request.key)}  for {clean(request.to)}, until {answer.value.expires}")


def _print_task(task: requests.Task) -> None:
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


def _place(value: requests.WorkingValue) -> str:
    """The session, task or sharing agent of a value."""
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
    """A text unchanged, any other value as JSON."""
    import msgspec

    if isinstance(value, str):
        return value
    data = msgspec.json.encode(value)
    return (msgspec.json.format(data) if indent else data).decode()
