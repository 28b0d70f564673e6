"""Derives a task from its entries: its steps, its status and its next steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from djinn_memory.memories.working.requests import StepStatus, Task, TaskStep
from djinn_memory.memories.working.values import iso, value_of
from djinn_memory.store.expiring import WorkingEntry

STEP = "step"
"""The type of an entry that is a step."""


class StepValue(Struct):
    """The parsed value of a step's entry."""

    status: StepStatus = "pending"
    result: Any = None
    after: Sequence[str] = []


def task_of(name: str, entries: Sequence[WorkingEntry]) -> Task:
    """A task with its values and steps, from all its entries."""
    steps = [step_of(entry) for entry in entries if entry.type == STEP]
    completed = {step.title for step in steps if step.status == "completed"}
    running = [step.title for step in steps if step.status == "running"]
    ready = [
        step.title for step in steps if step.status == "pending" and completed >= {*step.after}
    ]
    return Task(
        task=name,
        status=_status({step.status for step in steps}),
        total=len(steps),
        completed=len(completed),
        updated=iso(max(entry.updated for entry in entries)),
        expires=iso(max(entry.expires for entry in entries)),
        state=[value_of(entry) for entry in entries if entry.type != STEP],
        steps=steps,
        next=[*running, *ready],
    )


def step_of(entry: WorkingEntry) -> TaskStep:
    """The step in an entry."""
    try:
        step = msgspec.json.decode(entry.value, type=StepValue)
    except (msgspec.DecodeError, RecursionError):
        step = StepValue()
    return TaskStep(entry.key, step.status, step.result, tuple(step.after), iso(entry.updated))


def _status(steps: set[StepStatus]) -> StepStatus:
    """The status of a task, from those of its steps. A task without steps is running."""
    if "failed" in steps and "running" not in steps:
        return "failed"
    if steps and steps <= {"completed", "cancelled"}:
        return "completed" if "completed" in steps else "cancelled"
    return "pending" if steps == {"pending"} else "running"
