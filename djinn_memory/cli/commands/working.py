"""djinn working set, get, list, clear, share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import candidates, options, output, working_text
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.memories.working.requests import TaskStep, WorkingValue


class StepStatusOption(StrEnum):
    """How a step goes."""

    pending = "pending"
    running = "running"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"


class ValueTypeOption(StrEnum):
    """What a value is."""

    task_context = "task_context"
    conversation = "conversation"
    tool_result = "tool_result"
    reflection = "reflection"
    observation = "observation"


Key = Annotated[
    str,
    typer.Argument(help="A name on one line; with --status that of a step.",
                   autocompletion=candidates.working_keys),
]  # fmt: skip
OptionalKey = Annotated[
    str | None, typer.Argument(help="A name on one line.", autocompletion=candidates.working_keys)
]
Session = Annotated[
    str | None,
    typer.Option("--session", help="Of this session; else DJINN_SESSION, or the current one.",
                 metavar="NAME"),
]  # fmt: skip
TaskId = Annotated[
    str | None,
    typer.Option("--task", help="Of this task, which outlives sessions.", metavar="ID",
                 autocompletion=candidates.working_tasks),
]  # fmt: skip
Ttl = Annotated[
    int | None, typer.Option("--ttl", help="Seconds after which it expires.", show_default=False)
]
Giver = Annotated[
    str | None,
    typer.Option("--from", help="What this agent handed over.", metavar="NAME",
                 autocompletion=candidates.agents),
]  # fmt: skip


@plain(
    "Examples: `djinn working set cursor 1204 --ttl 60` · `djinn working set plan - < plan` "
    '· `djinn working set finding "The mole\'s lamp is dark." --short --type observation` · '
    '`djinn working set chat "user: hello" --append` · '
    "`djinn working set build --task deploy --status completed`"
)
def set_value(
    ctx: typer.Context,
    key: Key,
    value: Annotated[
        str | None, typer.Argument(help="Text; - reads it from stdin. Of a step, its result.")
    ] = None,
    ttl: Ttl = None,
    session: Session = None,
    task: TaskId = None,
    short: Annotated[
        bool,
        typer.Option("--short", help="A short-term entry, for an hour; used three times, "
                     "`djinn maintain` makes a note of it."),
    ] = False,
    kind: Annotated[
        ValueTypeOption | None, typer.Option("--type", help="What it is.", show_default=False)
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add it to the list there, which keeps the last 50.")
    ] = False,
    status: Annotated[
        StepStatusOption | None,
        typer.Option("--status", help="Add a step to the task, or say how it goes.",
                     show_default=False),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option("--after", help="A step that must be completed before it; repeatable.",
                     metavar="STEP"),
    ] = None,
    json_value: Annotated[
        bool, typer.Option("--json-value", help="The value is JSON, not text.")
    ] = False,
    allow_secret: options.AllowSecret = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Keep a value under a key for a while, or set a step of a task.

    What was there is replaced, and shown. Nothing of it is a note, and no search finds it.
    """
    from djinn_memory.errors import UsageError

    djinn = options.open_djinn(ctx)
    given = _given(value, json_value)
    if status or after:
        if not (task and status) or session or short or kind or append:
            raise UsageError("a step takes --task and --status, and of the rest --after and --ttl")
        step = djinn.working.step(
            task, key, status.value, given, after=after or (), agent=agent, ttl=ttl,
            allow_secret=allow_secret,
        )  # fmt: skip
        _told_step(djinn, task, step, json)
        return
    if value is None:
        raise UsageError(f"what is {key!r} to be? give a value, or - for stdin")
    done = djinn.working.set(
        key, given, ttl=ttl, agent=agent, session=session, task=task, short=short,
        type=kind.value if kind else None, append=append, allow_secret=allow_secret,
    )  # fmt: skip
    if json:
        from djinn_memory.cli.schemas.working import WorkingSet

        output.print_json(WorkingSet(done.value, done.replaced, djinn.problems))
        return
    output.problems(djinn.problems)
    say(f"{clean(key)}  {working_text.where(done.value)}, until {done.value.expires}")
    if done.replaced:
        talk(f"it replaces: {working_text.preview(done.replaced.value)}")


@plain(
    "Examples: `djinn working get cursor` · `djinn working get --task deploy` · "
    "`djinn working get plan --from grace --json`"
)
def get(
    ctx: typer.Context,
    key: OptionalKey = None,
    session: Session = None,
    task: TaskId = None,
    giver: Giver = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Print a value, or with --task alone a whole task."""
    from msgspec.structs import asdict

    from djinn_memory.errors import UsageError

    djinn = options.open_djinn(ctx)
    if key is None:
        if task is None or session or giver:
            raise UsageError("what is asked for? give a key, or --task alone")
        found = djinn.working.resume(task, agent=agent)
        if json:
            from djinn_memory.cli.schemas.working import WorkingTask

            output.print_json(WorkingTask(**asdict(found), problems=djinn.problems))
        else:
            output.problems(djinn.problems)
            working_text.show_task(found)
        return
    value = djinn.working.get(key, agent=agent, session=session, task=task, giver=giver)
    if json:
        from djinn_memory.cli.schemas.working import WorkingGet

        output.print_json(WorkingGet(**asdict(value), problems=djinn.problems))
        return
    output.problems(djinn.problems)
    if value.given_by:
        talk(f"from {value.given_by}")
    if value.also_from:
        others = " and ".join(clean(one) for one in value.also_from)
        talk(f"{others} handed over another; --from shows it")
    say(output.clean_lines(working_text.text(value.value, indent=True)))


@plain("Examples: `djinn working list` · `djinn working list --tasks --json`")
def list_values(
    ctx: typer.Context,
    session: Session = None,
    task: TaskId = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="The tasks, instead of values.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Of all sessions and tasks.")] = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """List what a session or a task holds, and what other agents handed over."""
    djinn = options.open_djinn(ctx)
    if tasks:
        _list_tasks(djinn, agent, json)
        return
    values = djinn.working.list(agent=agent, session=session, task=task, all=every).values
    if json:
        from djinn_memory.cli.schemas.working import WorkingList

        output.print_json(WorkingList(values, djinn.problems))
        return
    output.problems(djinn.problems)
    if not values:
        talk("nothing is held there")
    output.columns(
        [
            [one.key, working_text.where(one), one.expires, working_text.preview(one.value)]
            for one in values
        ],
        head=("key", "of", "expires", "value"),
    )


@plain("Examples: `djinn working clear cursor` · `djinn working clear --task deploy --yes`")
def clear(
    ctx: typer.Context,
    key: OptionalKey = None,
    session: Session = None,
    task: TaskId = None,
    giver: Giver = None,
    yes: options.Yes = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Forget the value under a key, or all that `djinn working list` shows."""
    djinn = options.open_djinn(ctx)
    about = {"task": task, "from": giver}
    place = f"session {session}" if session else "the current session"
    what = next(
        (f"{name} {one}" for name, one in about.items() if one),
        f"{place}, what was set outside of any, and what was handed over",
    )
    sure = key is not None or options.confirmed(
        "Forget all of it?", yes, about=what, doing="forget it"
    )
    gone: Sequence[WorkingValue] = ()
    if sure:
        gone = djinn.working.clear(
            key, agent=agent, session=session, task=task, giver=giver
        ).cleared
    if json:
        from djinn_memory.cli.schemas.working import WorkingClear

        output.print_json(WorkingClear(gone, djinn.problems))
        return
    output.problems(djinn.problems)
    say(f"forgot {count(len(gone), 'value')}")


@plain(
    "Examples: `djinn working share plan --to grace` · "
    "`djinn working share branch --task deploy --to grace --ttl 3600`"
)
def share(
    ctx: typer.Context,
    key: Key,
    to: Annotated[
        str, typer.Option("--to", help="Who is to have it.", metavar="AGENT",
                          autocompletion=candidates.agents),
    ],
    session: Session = None,
    task: TaskId = None,
    ttl: Ttl = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Give another agent a copy of a value."""
    djinn = options.open_djinn(ctx)
    done = djinn.working.share(key, to, agent=agent, session=session, task=task, ttl=ttl)
    if json:
        from djinn_memory.cli.schemas.working import WorkingShare

        output.print_json(WorkingShare(done.value, done.replaced, djinn.problems))
        return
    output.problems(djinn.problems)
    say(f"{clean(key)}  for {clean(to)}, until {done.value.expires}")


def _given(value: str | None, is_json: bool) -> object:
    from djinn_memory.memories.working.values import from_json

    if value is None:
        return None
    text = options.text_or_stdin(value)
    if value == "-":
        # The line end that `echo` adds is none of the value's.
        text = text.removesuffix("\n").removesuffix("\r")
    return from_json(text) if is_json else text


def _told_step(djinn: Djinn, task: str, step: TaskStep, json: bool) -> None:
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.working import WorkingStep

        output.print_json(WorkingStep(**asdict(step), problems=djinn.problems))
        return
    output.problems(djinn.problems)
    say(f"{clean(step.title)}  {step.status}, a step of task {clean(task)}")


def _list_tasks(djinn: Djinn, agent: str | None, json: bool) -> None:
    tasks = djinn.working.tasks(agent=agent).tasks
    if json:
        from djinn_memory.cli.schemas.working import WorkingTasks

        output.print_json(WorkingTasks(tasks, djinn.problems))
        return
    output.problems(djinn.problems)
    if not tasks:
        talk("there is no task")
    output.columns(
        [[one.task, one.status, f"{one.completed} of {one.total}", one.updated] for one in tasks],
        head=("task", "status", "steps", "updated"),
    )
