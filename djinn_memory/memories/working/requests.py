"""Requests and answers of working memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from djinn_memory.home.settings import LONGEST_TTL
from djinn_memory.operations.checks import UNGUARDED, RawText
from djinn_memory.search.narrowing import AgentName, KeepSecret
from djinn_memory.store.expiring import Tier

ValueType = Literal["task_context", "conversation", "tool_result", "reflection", "observation"]
StepStatus = Literal["pending", "running", "completed", "failed", "cancelled"]

MOST_CHARACTERS = 200
"""Maximum characters of a key and of the id of a task."""

Name = Annotated[RawText, Meta(min_length=1, max_length=MOST_CHARACTERS)]
Key = Annotated[Name, Meta(description="The name of a value, on one line.")]
OptionalKey = Annotated[Name | None, Meta(description="The name of a value, on one line.")]
TaskId = Annotated[Name, Meta(description="The id of the task.")]
Ttl = Annotated[
    Annotated[
        int, Meta(ge=1, le=LONGEST_TTL, extra={"remedy": "to keep a value longer, write a note"})
    ]
    | None,
    Meta(description="Seconds until the value expires."),
]


class _OfAgent(Struct, frozen=True, kw_only=True):
    """The agent of a request."""

    agent: AgentName = None


class _OfScope(_OfAgent, frozen=True, kw_only=True):
    """The session or task of the values in a request."""

    session: Annotated[
        RawText | None,
        Meta(description="The session; else DJINN_SESSION, else the current session."),
    ] = None
    task: Annotated[
        Name | None, Meta(description="A task instead of a session. A task outlives sessions.")
    ] = None


class _OfGiver(_OfScope, frozen=True, kw_only=True):
    """A scope, or the agent who shared the values."""

    giver: Annotated[
        Name | None, Meta(description="The agent who shared the value.")
    ] = field(default=None, name="from")  # fmt: skip


class SetValue(_OfScope, frozen=True):
    """Store a value under a key for a limited time."""

    key: Key
    value: Annotated[Any, UNGUARDED, Meta(description="The value: text, or any other JSON.")]
    ttl: Ttl = None
    short: Annotated[
        bool,
        Meta(
            description="Make it a short-term entry, kept for an hour. "
            "Maintenance turns an entry that was used three times into a note."
        ),
    ] = False
    type: Annotated[ValueType | None, Meta(description="The type of the value.")] = None
    append: Annotated[
        bool,
        Meta(description="Append the value to the list under the key, which keeps the last 50."),
    ] = False
    allow_secret: KeepSecret = False


class GetValue(_OfGiver, frozen=True):
    """Read a value. This counts as a use of it."""

    key: Key


class ListWorkingValues(_OfScope, frozen=True):
    """List the values of a session or task, and values that other agents shared."""

    all: Annotated[bool, Meta(description="List the values of all sessions and tasks.")] = False


class ClearValues(_OfGiver, frozen=True):
    """Remove a value, or all values in a scope."""

    key: OptionalKey = None


class ShareValue(_OfScope, frozen=True):
    """Give another agent a copy of a value. The other agent sees who shared it."""

    key: Key
    to: Annotated[Name, Meta(description="The agent who gets a copy.")]
    ttl: Ttl = None


class SetStep(_OfAgent, frozen=True):
    """Add a step to a task, or update one.

    The status is `pending` if not given; other fields that are not given are unchanged.
    """

    task: TaskId
    key: Annotated[Name, Meta(description="The title of the step.")]
    status: Annotated[StepStatus, Meta(description="The status of the step.")] = "pending"
    result: Annotated[
        Any, UNGUARDED, Meta(description="The result of the step: text, or any other JSON.")
    ] = None
    after: Annotated[
        Sequence[Name],
        Meta(max_length=100, description="The steps that must be completed before this step."),
    ] = ()
    ttl: Ttl = None
    allow_secret: KeepSecret = False


class ListTasks(_OfAgent, frozen=True):
    """List the tasks of an agent."""


class ResumeTask(_OfAgent, frozen=True):
    """Show a whole task and its next steps."""

    task: TaskId


class WorkingValue(Struct, frozen=True):
    """The value that working memory stores under a key."""

    key: str
    """The name of the value in its session or task."""
    value: Any
    """The value: text, or any other JSON."""
    type: str | None
    """task_context, conversation, tool_result, reflection, observation, or null."""
    tier: Tier
    """`short` for an entry that becomes a note after three uses, else `working`."""
    agent: str
    """The agent whose value it is."""
    session: str | None
    """The session of the value; null for values of a task and for shared values."""
    task: str | None
    """The task of the value."""
    given_by: str | None
    """The agent who shared it."""
    created: str
    """The time when it was set, as ISO 8601 in UTC."""
    updated: str
    """The time of its last change."""
    expires: str
    """The time when it expires."""
    ttl: int
    """The number of seconds for which it is kept."""
    uses: int
    """The number of times that `get` has read it."""
    last_used: str | None
    """The time when `get` last read it."""


class WorkingLookup(WorkingValue, frozen=True):
    """A value that was read by its key."""

    also_from: Sequence[str]
    """The agents who shared other values under this key."""


class WorkingChange(Struct, frozen=True):
    """A value that was set or shared."""

    value: WorkingValue
    """The value after the change."""
    replaced: WorkingValue | None
    """The previous value; null if there was none, after an append, and for a shared value."""


class WorkingValues(Struct, frozen=True):
    """The values in working memory."""

    values: Sequence[WorkingValue]
    """The values in the order of creation. They include the steps of a task."""


class ClearedValues(Struct, frozen=True):
    """The values that were removed."""

    cleared: Sequence[WorkingValue]
    """The values before they were removed."""


class TaskStep(Struct, frozen=True):
    """A step of a task."""

    title: str
    """The name of the step in its task."""
    status: StepStatus
    """pending, running, completed, failed or cancelled."""
    result: Any
    """The result; null until there is one."""
    after: tuple[str, ...]
    """The steps that must be completed first."""
    updated: str
    """The time of its last change, as ISO 8601 in UTC."""


class TaskEntry(Struct, frozen=True):
    """A task in a list."""

    task: str
    """The id of the task."""
    status: StepStatus
    """Derived from the statuses of its steps."""
    total: int
    """The number of its steps."""
    completed: int
    """The number of its completed steps."""
    updated: str
    """The time when a value or step last changed, as ISO 8601 in UTC."""
    expires: str
    """The time when the last of its values and steps expires."""


class Task(TaskEntry, frozen=True):
    """A task with its values and steps."""

    state: Sequence[WorkingValue]
    """The values of the task."""
    steps: Sequence[TaskStep]
    """The steps of the task, in the order in which they were added."""
    next: Sequence[str]
    """The running steps, then the pending steps whose predecessors are all completed."""


class TaskEntries(Struct, frozen=True):
    """The tasks of an agent."""

    tasks: Sequence[TaskEntry]
    """The tasks, most recently changed first."""
