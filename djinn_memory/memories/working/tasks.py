"""What a task's entries say together: its steps, how it stands, and what is next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from djinn_memory.memories.working.values import WorkingValue, iso, value_of
from djinn_memory.store.expiring import WorkingEntry

STEP = "step"
"""The type of an entry that is a step."""

Status = Literal["pending", "running", "completed", "failed", "cancelled"]


class _Said(Struct):
    status: Status = "pending"
    result: Any = None
    after: list[str] = []


class TaskStep(Struct, frozen=True):
    """A step of a task."""

    title: str
    """Names it in its task."""
    status: Status
    """pending, running, completed, failed or cancelled."""
    result: Any
    """What came of it; null while nothing did."""
    after: tuple[str, ...]
    """The steps that must be completed before it."""
    updated: str
    """When it was changed last, as ISO 8601 in UTC."""


class TaskEntry(Struct, frozen=True):
    """A task in a list."""

    task: str
    """Its id."""
    status: Status
    """What the statuses of its steps come to."""
    total: int
    """How many steps it has."""
    completed: int
    """How many of them are completed."""
    updated: str
    """When something of it was changed last, as ISO 8601 in UTC."""
    expires: str
    """When the last of it can be read no more."""


class Task(TaskEntry, frozen=True):
    """A task as somebody who goes on with it needs it."""

    state: Sequence[WorkingValue]
    """Its values."""
    steps: Sequence[TaskStep]
    """Its steps, in the order in which they were added."""
    next: Sequence[str]
    """The steps that run, then those that wait for nothing any more."""


def summary(name: str, entries: Sequence[WorkingEntry]) -> TaskEntry:
    """A task in short, from all its entries."""
    steps = [step_of(one) for one in entries if one.type == STEP]
    return TaskEntry(
        task=name,
        status=_status([one.status for one in steps]),
        total=len(steps),
        completed=sum(one.status == "completed" for one in steps),
        updated=iso(max(one.updated for one in entries)),
        expires=iso(max(one.expires for one in entries)),
    )


def resumed(name: str, entries: Sequence[WorkingEntry]) -> Task:
    """A whole task, from all its entries."""
    steps = [step_of(one) for one in entries if one.type == STEP]
    completed = {one.title for one in steps if one.status == "completed"}
    running = [one.title for one in steps if one.status == "running"]
    free = [one.title for one in steps if one.status == "pending" and completed >= {*one.after}]
    return Task(
        **asdict(summary(name, entries)),
        state=[value_of(one) for one in entries if one.type != STEP],
        steps=steps,
        next=[*running, *free],
    )


def step_of(found: WorkingEntry) -> TaskStep:
    """An entry as the step it is."""
    try:
        said = msgspec.json.decode(found.value, type=_Said)
    except (msgspec.DecodeError, RecursionError):
        said = _Said()
    return TaskStep(found.key, said.status, said.result, tuple(said.after), iso(found.updated))


def _status(steps: Sequence[Status]) -> Status:
    """pending, then running, then completed, failed or cancelled; what has no steps is running."""
    seen = {*steps}
    if "failed" in seen and "running" not in seen:
        return "failed"
    if seen and seen <= {"completed", "cancelled"}:
        return "completed" if "completed" in seen else "cancelled"
    return "pending" if seen == {"pending"} else "running"
