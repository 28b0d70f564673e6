"""How values and tasks of working memory are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from djinn_memory.cli.output import clean, say
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.working.requests import Task, WorkingValue

PREVIEW = 60
"""Characters of a value in a list."""


def show_task(task: Task) -> None:
    """All to go on with a task."""
    done = f"{task.completed} of {count(task.total, 'step')} completed"
    say(f"{clean(task.task)}: {task.status}, {done}")
    for value in task.state:
        say(f"  {clean(value.key)} = {clean(text(value.value))}")
    for step in task.steps:
        waits = f" (after {', '.join(map(clean, step.after))})" if step.after else ""
        result = f": {clean(text(step.result))}" if step.result is not None else ""
        say(f"  {step.status:9}  {clean(step.title)}{waits}{result}")
    if task.next:
        say(f"next: {', '.join(map(clean, task.next))}")


def where(value: WorkingValue) -> str:
    """What a value belongs to."""
    if value.task is not None:
        place = f"task {clean(value.task)}"
    elif value.given_by:
        place = f"from {value.given_by}"
    else:
        place = f"session {clean(value.session or '')}"
    return f"{place}, short-term {value.type}" if value.tier == "short" else place


def preview(value: Any) -> str:
    """A value on a line, cut short."""
    line = clean(text(value))
    return f"{line[:PREVIEW]}..." if len(line) > PREVIEW else line


def text(value: Any, *, indent: bool = False) -> str:
    """A text as it is, anything else as JSON."""
    import msgspec

    if isinstance(value, str):
        return value
    written = msgspec.json.encode(value)
    return (msgspec.json.format(written) if indent else written).decode()
