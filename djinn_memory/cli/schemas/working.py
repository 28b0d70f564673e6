"""What `djinn working` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.memories.working.requests import (
    Task,
    TaskEntry,
    TaskStep,
    WorkingLookup,
    WorkingValue,
)
from djinn_memory.models import Problem


class WorkingSet(Struct, tag="djinn.working.set/1", tag_field="schema", forbid_unknown_fields=True):
    """A value that is kept now."""

    value: WorkingValue
    """As it is kept."""
    replaced: WorkingValue | None
    """What was under the key before; null for nothing, or when it was appended to."""
    problems: Sequence[Problem] = ()


class WorkingStep(
    TaskStep, frozen=True, tag="djinn.working.step/1", tag_field="schema",
    forbid_unknown_fields=True,
):  # fmt: skip
    """A step of a task that was added or changed."""

    problems: Sequence[Problem] = ()


class WorkingGet(
    WorkingLookup,
    frozen=True,
    tag="djinn.working.get/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """A value, whose use was counted."""

    problems: Sequence[Problem] = ()


class WorkingTask(
    Task, frozen=True, tag="djinn.working.task/1", tag_field="schema",
    forbid_unknown_fields=True,
):  # fmt: skip
    """A task, to go on with."""

    problems: Sequence[Problem] = ()


class WorkingList(
    Struct, tag="djinn.working.list/1", tag_field="schema", forbid_unknown_fields=True
):
    """What is held."""

    values: Sequence[WorkingValue]
    """In the order in which they were made; a task's steps are among them."""
    problems: Sequence[Problem] = ()


class WorkingTasks(
    Struct, tag="djinn.working.tasks/1", tag_field="schema", forbid_unknown_fields=True
):
    """The tasks of an agent."""

    tasks: Sequence[TaskEntry]
    """The one that was worked on last first."""
    problems: Sequence[Problem] = ()


class WorkingClear(
    Struct, tag="djinn.working.clear/1", tag_field="schema", forbid_unknown_fields=True
):
    """What was forgotten."""

    cleared: Sequence[WorkingValue]
    """What it was; nothing after a no to the question."""
    problems: Sequence[Problem] = ()


class WorkingShare(
    Struct, tag="djinn.working.share/1", tag_field="schema", forbid_unknown_fields=True
):
    """A value that another agent has now."""

    value: WorkingValue
    """The other agent's copy."""
    replaced: WorkingValue | None
    """The copy that was handed over under this key before."""
    problems: Sequence[Problem] = ()
