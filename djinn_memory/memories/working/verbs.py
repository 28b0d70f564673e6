"""Operations on working memory: short-lived values, and the state of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from djinn_memory.errors import Busy, NotFound, Remedy, UsageError
from djinn_memory.memories.working import requests
from djinn_memory.memories.working.scopes import WorkingScopes, iso, live, value_of
from djinn_memory.models import Problem, extended
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.secrets import guard
from djinn_memory.store.expiring import StoreUnwritable, WorkingEntry, WorkingSlot
from djinn_memory.store.ledger import uuid7

MOST_BYTES = 1_000_000
"""Maximum bytes of a value as JSON. A longer text is a document."""

STEP = "step"
"""The type of an entry that is a step."""


class _StepValue(Struct):
    """The parsed value of a step's entry."""

    status: requests.StepStatus = "pending"
    result: Any = None
    after: Sequence[str] = []


def _task_of(name: str, entries: Sequence[WorkingEntry]) -> requests.Task:
    """A task with its values and steps, from all its entries."""
    steps = [_step_of(entry) for entry in entries if entry.type == STEP]
    completed = {step.title for step in steps if step.status == "completed"}
    running = [step.title for step in steps if step.status == "running"]
    ready = [
        step.title for step in steps if step.status == "pending" and completed >= {*step.after}
    ]
    return requests.Task(
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


def _step_of(entry: WorkingEntry) -> requests.TaskStep:
    """The step in an entry."""
    try:
        step = msgspec.json.decode(entry.value, type=_StepValue)
    except (msgspec.DecodeError, RecursionError):
        step = _StepValue()
    return requests.TaskStep(
        entry.key, step.status, step.result, tuple(step.after), iso(entry.updated)
    )


def _status(steps: set[requests.StepStatus]) -> requests.StepStatus:
    """The status of a task, from those of its steps. A task without steps is running."""
    if "failed" in steps and "running" not in steps:
        return "failed"
    if steps and steps <= {"completed", "cancelled"}:
        return "completed" if "completed" in steps else "cancelled"
    return "pending" if steps == {"pending"} else "running"


BULLETIN = "agent_bulletin."
"""The beginning of keys whose changes are announced to other programs of the agent."""


class WorkingMemory(Namespace, name="working"):
    """The working memory of a home. Each agent sees its own values and values shared with it.

    A value belongs to a session, by default the current one, or to a task. Tasks outlive sessions.
    """

    @property
    def _scopes(self) -> WorkingScopes:
        return WorkingScopes(self._state)

    @operation(requests.SetValue, recover=False, writes=True, positional=("key", "value"))
    def set(self, request: requests.SetValue) -> requests.WorkingChange:
        """Store a value for `ttl` seconds, or for the time in the settings.

        With `append` it becomes the last element of the list under the key.
        """
        kind = request.type or ("observation" if request.short else None)
        slot = self._scopes.slot(request.key, request.agent, request.session, request.task)
        text = self._checked(slot, request.value, request.allow_secret)
        settings = self._state.home.config.working
        usual = settings.ttl if request.task is None else settings.task_ttl
        usual = settings.short_ttl if request.short else usual

        def decide(before: WorkingEntry | None, now: float) -> WorkingEntry:
            if before and before.type == STEP:
                step = Remedy(
                    "working.step",
                    {"task": slot.name, "key": slot.key, "status": None},
                    "update the step",
                )
                raise UsageError(f"{slot.key!r} is a step of the task", step)
            tier = "short" if request.short else "working"
            entry = _new_entry(slot, now, usual, value=text, type=kind, tier=tier)
            if request.append:
                entry = _appended(before, entry, settings.history)
            return _kept_for(entry, now, request.ttl)

        before, after = self._scopes.put(slot, decide)
        self._scopes.renew(slot, usual)
        if slot.key.startswith(BULLETIN):
            bulletin = {"agent": slot.agent, "key": slot.key}
            self.runtime.announce("bulletin", bulletin, slot.agent)
        return _change(after, None if request.append else before)

    @operation(requests.GetValue, recover=False, logs=True, positional=("key",))
    def get(self, request: requests.GetValue) -> requests.WorkingLookup:
        """Read the value under a key, and count this as a use of it.

        If the session has no value under the key, values set outside of any session are searched,
        then values shared by `giver` or by any agent.
        """
        slot = self._scopes.slot(
            request.key, request.agent, request.session, request.task, request.giver
        )
        entry, others = self._scopes.lookup(slot)

        def use(before: WorkingEntry | None, now: float) -> WorkingEntry | None:
            current = live(before, now)
            return replace(current, uses=current.uses + 1, used=now) if current else before

        try:
            after = self._state.working.change(entry.slot, use)[1]
        except (Busy, StoreUnwritable) as error:
            self._state.problems.append(
                Problem("working memory", f"{error}; this use is not counted")
            )
            after = None
        # It may have expired just now.
        value = value_of(after or self._scopes.lookup(slot)[0])
        return extended(value, requests.WorkingLookup, also_from=others)

    @operation(requests.ListWorkingValues, recover=False)
    def list(self, request: requests.ListWorkingValues) -> requests.WorkingValues:
        """List the values that a session or a task sees, or with `all` every value."""
        if request.all:
            entries = self._scopes.entries(self._state.home.agent(request.agent))
            entries = [entry for entry in entries if entry.space != "kept"]
        else:
            entries = self._scopes.visible(
                self._scopes.slot("all", request.agent, request.session, request.task)
            )
        return requests.WorkingValues([value_of(entry) for entry in entries])

    @operation(requests.ClearValues, recover=False, writes=True, removes=True, positional=("key",))
    def clear(self, request: requests.ClearValues) -> requests.ClearedValues:
        """Remove all values that `list` shows, or the value under a key. Returns them."""
        key = "all" if request.key is None else request.key
        slot = self._scopes.slot(key, request.agent, request.session, request.task, request.giver)
        entries = self._scopes.forget(slot, request.key)
        return requests.ClearedValues([value_of(entry) for entry in entries])

    @operation(requests.ShareValue, recover=False, writes=True, positional=("key",))
    def share(self, request: requests.ShareValue) -> requests.WorkingChange:
        """Give another agent a copy of a value, kept for its original time or for `ttl` seconds."""
        slot = self._scopes.slot(request.key, request.agent, request.session, request.task)
        entry = self._scopes.lookup(slot)[0]
        if request.to == entry.agent:
            why = f"{request.to}: the value already belongs to this agent; choose another agent"
            raise UsageError(why, argument="to")
        if request.to not in self._state.home.agents:
            # A client must not learn the names of all agents by a guess at one.
            remedy = Remedy("agents.list", purpose="list the agents")
            raise NotFound(f"{request.to}: no such agent", remedy, argument="to")
        target = WorkingSlot(request.to, "from", entry.agent, entry.key)

        def decide(_: WorkingEntry | None, now: float) -> WorkingEntry:
            copy = replace(
                entry, **asdict(target), id=uuid7(), created=now, updated=now, uses=0, used=None,
                claim=None, claimed=None,
            )  # fmt: skip
            return copy if request.ttl is None else _kept_for(copy, now, request.ttl)

        _, after = self._scopes.put(target, decide)
        bulletin = {"agent": entry.agent, "key": entry.key}
        self.runtime.announce("bulletin", bulletin, request.to)
        # Whether the other agent still has an earlier copy is not for this one to know.
        return _change(after, None)

    @operation(requests.SetStep, recover=False, writes=True, positional=("key", "result"))
    def step(self, request: requests.SetStep) -> requests.TaskStep:
        """Add a step to a task, or update one. Fields that are not given are unchanged."""
        title = request.key
        slot = self._scopes.slot(title, request.agent, task=request.task)
        entries = self._scopes.same_scope(slot)
        known = {entry.key for entry in entries if entry.type == STEP} - {title}
        for name in request.after:
            if name not in known:
                steps = ", ".join(sorted(known)) or "none"
                why = f"{name!r}: no such earlier step; known: {steps}"
                raise UsageError(why, argument="after")
        self._checked(slot, request.result, request.allow_secret)
        usual = self._state.home.config.working.task_ttl

        def decide(before: WorkingEntry | None, now: float) -> WorkingEntry:
            if before and before.type != STEP:
                raise UsageError(
                    f"{title!r} is a value of the task, not a step; choose another name"
                )
            step = _StepValue(request.status, request.result, request.after)
            if before:
                last = _step_of(before)
                step.result = last.result if step.result is None else step.result
                step.after = step.after or last.after
            entry = before or _new_entry(slot, now, usual, value="", type=STEP)
            entry = replace(entry, value=_as_json(step, title), updated=now)
            return _kept_for(entry, now, request.ttl)

        _, after = self._scopes.put(slot, decide)
        self._scopes.renew(slot, usual)
        return _step_of(after)

    @operation(requests.ListTasks, recover=False)
    def tasks(self, request: requests.ListTasks) -> requests.TaskEntries:
        """List the tasks of an agent, most recently changed first."""
        by_task: dict[str, list[WorkingEntry]] = {}
        for entry in self._scopes.entries(self._state.home.agent(request.agent)):
            if entry.space == "task":
                by_task.setdefault(entry.name, []).append(entry)
        tasks = [extended(_task_of(*task), requests.TaskEntry) for task in by_task.items()]
        return requests.TaskEntries(sorted(tasks, key=lambda task: task.updated, reverse=True))

    @operation(requests.ResumeTask, recover=False)
    def resume(self, request: requests.ResumeTask) -> requests.Task:
        """Show a whole task and its next steps."""
        slot = self._scopes.slot("all", request.agent, task=request.task)
        entries = self._scopes.same_scope(slot)
        if not entries:
            raise NotFound(
                f"no task {request.task!r}, or it has expired",
                Remedy("working.tasks", purpose="list the tasks"),
            )
        return _task_of(request.task, entries)

    def _checked(self, slot: WorkingSlot, value: object, allow_secret: bool) -> str:
        """A value as JSON. Raises `Refused` if it looks like a secret."""
        text = _as_json(value, slot.key)
        # The key says what the value is: `password` and `hunter2`.
        shown = f"{slot.key}: {value if isinstance(value, str) else text}\n{slot.name}"
        settings = self._state.home.config.secrets
        guard(shown, what="the value", settings=settings, allow=allow_secret)
        return text


def _change(after: WorkingEntry, before: WorkingEntry | None) -> requests.WorkingChange:
    return requests.WorkingChange(value_of(after), value_of(before) if before else None)


def _as_json(value: object, key: str) -> str:
    """Encode a value. Raises `UsageError` if JSON cannot represent it, or if it is too long."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise UsageError(f"the value of {key!r} is not UTF-8 text") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the value of {key!r} cannot be written as JSON: {error}") from None
    if len(text) > MOST_BYTES:
        raise UsageError(
            f"the value of {key!r} takes {len(text):,} bytes, more than {MOST_BYTES:,}",
            Remedy("remember", purpose="write a note instead"),
            Remedy("documents.ingest", {"paths": None}, "turn a file into a document"),
        )
    return text.decode()


def _appended(before: WorkingEntry | None, entry: WorkingEntry, most: int) -> WorkingEntry:
    """The list `before` with `entry` as its last element.

    If the list exceeds `most` elements or `MOST_BYTES`, the first elements are dropped.
    """
    elements = msgspec.json.decode(before.value if before else "[]")
    if not isinstance(elements, list):
        raise UsageError(f"{entry.key!r} is not a list; clear it before you append")
    texts = [msgspec.json.encode(element).decode() for element in elements] + [entry.value]
    del texts[:-most]
    while len(texts) > 1 and sum(len(text.encode()) + 1 for text in texts) >= MOST_BYTES:
        del texts[0]
    value = f"[{','.join(texts)}]"
    if before is None:
        return replace(entry, value=value)
    return replace(
        before, value=value, updated=entry.updated, ttl=entry.ttl, tier=entry.tier,
        type=entry.type or before.type,
    )  # fmt: skip


def _new_entry(slot: WorkingSlot, now: float, ttl: int, **fields: Any) -> WorkingEntry:
    """A new entry that is kept for `ttl` seconds."""
    times = {"created": now, "updated": now, "ttl": ttl, "expires": now + ttl}
    return extended(slot, WorkingEntry, id=uuid7(), **times, **fields)


def _kept_for(entry: WorkingEntry, now: float, ttl: int | None) -> WorkingEntry:
    """An entry that is kept from now on, for its original time or for `ttl` seconds."""
    seconds = entry.ttl if ttl is None else ttl
    return replace(entry, ttl=seconds, expires=now + seconds)
