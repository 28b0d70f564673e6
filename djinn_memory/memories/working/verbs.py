"""The verbs of working memory: what an agent holds for minutes, and the context of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from djinn_memory.errors import NotFound, UsageError
from djinn_memory.memories.working.scopes import ExpiredValue, WorkingScopes, extended, live
from djinn_memory.memories.working.tasks import (
    STEP,
    Status,
    Task,
    TaskEntry,
    TaskStep,
    resumed,
    step_of,
    summary,
)
from djinn_memory.memories.working.values import (
    Type,
    WorkingLookup,
    WorkingValue,
    appended,
    as_json,
    check_ttl,
    value_of,
)
from djinn_memory.models import Problem
from djinn_memory.runtime import Namespace
from djinn_memory.secrets import guard
from djinn_memory.store.expiring import StoreUnwritable, WorkingEntry, WorkingSlot, WorkingStore
from djinn_memory.store.ledger import uuid7

Values: TypeAlias = list[WorkingValue]
Tasks: TypeAlias = list[TaskEntry]


class WorkingChange(Struct, frozen=True):
    """A value that was set, and the one that it replaced."""

    now: WorkingValue
    replaced: WorkingValue | None


class WorkingMemory(Namespace):
    """The working memory of a home. Each agent sees its own, and what others handed to it.

    A value belongs to a session, by default the current one, or to a task, which outlives sessions.
    """

    @property
    def _slots(self) -> WorkingScopes:
        return WorkingScopes(self._state)

    @property
    def _store(self) -> WorkingStore:
        return self._state.working

    def set(
        self,
        key: str,
        value: object,
        *,
        ttl: int | None = None,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        short: bool = False,
        type: Type | None = None,
        append: bool = False,
        allow_secret: bool = False,
    ) -> WorkingChange:
        """Keep text, or what JSON can say, for `ttl` seconds; else as long as the settings say.

        With `append` it becomes the last item of the list there, which keeps `working.history`.
        """
        slot = self._slots.slot(key, agent, session, task)
        if type is not None and type not in get_args(Type):
            raise UsageError(f"type {type!r}: allowed: {', '.join(get_args(Type))}")
        text = self._checked(slot, value, allow_secret)
        usual, most = self._usual_ttl(task, short), self._state.home.config.working.history

        def decide(before: WorkingEntry | None, now: float) -> WorkingEntry:
            there = live(before, now)
            if there and there.type == STEP:
                raise UsageError(f"{key!r} is a step of the task; give its --status")
            if before and before.earned and not there:
                raise ExpiredValue(before)
            made = WorkingEntry(
                **asdict(slot), id=uuid7(), value=text, type=type, tier="short" if short else
                "working", created=now, updated=now, ttl=usual, expires=now,
            )  # fmt: skip
            if append:
                made = appended(there, made, most)
            return extended(made, now, ttl)

        check_ttl(ttl)
        if short and type is None:
            type = "observation"
        before, after = self._slots.put(slot, decide)
        self._slots.renew(slot, usual)
        assert after
        return WorkingChange(value_of(after), value_of(before) if before and not append else None)

    def get(
        self,
        key: str,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        giver: str | None = None,
    ) -> WorkingLookup:
        """What lies under a key, which counts as a use of it.

        What the session lacks is looked for in what was set outside of any, then in what was
        handed over, by `giver` or by anybody.
        """
        slot = self._slots.slot(key, agent, session, task, giver)
        found, others = self._slots.found(slot)

        def use(found: WorkingEntry | None, now: float) -> WorkingEntry | None:
            there = live(found, now)
            return replace(there, uses=there.uses + 1, used=now) if there else found

        try:
            after = self._store.change(found.slot, use)[1]
        except StoreUnwritable as error:
            self._state.problems.append(Problem("working memory", f"{error}; no use is counted"))
            after = None
        # It may have expired just now.
        value = value_of(after or self._slots.found(slot)[0])
        return WorkingLookup(**asdict(value), also_from=others)

    def list(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        every: bool = False,
    ) -> Values:
        """What a task holds, or a session sees; with `every` all there is."""
        if every:
            entries = self._slots.entries(self._state.home.agent(agent))
            return [value_of(one) for one in entries if one.space != "kept"]
        slot = self._slots.slot("all", agent, session, task)
        return [value_of(one) for one in self._slots.seen(slot)]

    def clear(
        self,
        key: str | None = None,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        giver: str | None = None,
    ) -> Values:
        """Forget what `list` shows, all or under a key, or what `giver` gave; returns it."""
        slot = self._slots.slot("all" if key is None else key, agent, session, task, giver)
        return [value_of(one) for one in self._slots.forget(slot, key)]

    def share(
        self,
        key: str,
        to: str,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        ttl: int | None = None,
    ) -> WorkingChange:
        """Hand a copy of a value to another agent, for as long as it is kept, or for `ttl`."""
        check_ttl(ttl)
        found = self._slots.found(self._slots.slot(key, agent, session, task))[0]
        if self._state.home.agent(to) == found.agent:
            raise UsageError(f"--to {to}: that is whose value it is; name another agent")
        slot = WorkingSlot(to, "from", found.agent, found.key)

        def decide(before: WorkingEntry | None, now: float) -> WorkingEntry:
            if before and before.earned and not live(before, now):
                raise ExpiredValue(before)
            fields = {**asdict(found), **asdict(slot)}
            fields |= {"id": uuid7(), "created": now, "updated": now, "uses": 0, "used": None}
            fields |= {"claim": None, "claimed": None}
            return (
                WorkingEntry(**fields)
                if ttl is None
                else extended(WorkingEntry(**fields), now, ttl)
            )

        before, after = self._slots.put(slot, decide)
        assert after
        return WorkingChange(value_of(after), value_of(before) if before else None)

    def step(
        self,
        task: str,
        title: str,
        status: Status,
        result: object = None,
        *,
        after: Sequence[str] = (),
        agent: str | None = None,
        ttl: int | None = None,
        allow_secret: bool = False,
    ) -> TaskStep:
        """Add a step to a task, or say how it goes; what is not given stays as it was.

        `after` names the steps that must be completed before it.
        """
        slot = self._slots.slot(title, agent, None, task)
        if status not in get_args(Status):
            raise UsageError(f"--status {status}: allowed: {', '.join(get_args(Status))}")
        check_ttl(ttl)
        known = {one.key for one in self._slots.beside(slot) if one.type == STEP} - {title}
        for name in after:
            if name not in known:
                steps = ", ".join(sorted(known)) or "none"
                raise UsageError(f"--after {name!r}: no such step before it; there are: {steps}")
        self._checked(slot, result, allow_secret)
        usual = self._usual_ttl(task, False)

        def decide(before: WorkingEntry | None, now: float) -> WorkingEntry:
            there = live(before, now)
            if there and there.type != STEP:
                raise UsageError(
                    f"{title!r} is a value of the task, and no step; name it otherwise"
                )
            if there:
                was = step_of(there)
                kept = was.result if result is None else result
                said = {"status": status, "result": kept, "after": after or was.after}
                made = replace(there, value=as_json(said, title), updated=now)
            else:
                said = {"status": status, "result": result, "after": after}
                made = WorkingEntry(
                    **asdict(slot), id=uuid7(), value=as_json(said, title), type=STEP, created=now,
                    updated=now, ttl=usual, expires=now,
                )  # fmt: skip
            return extended(made, now, ttl)

        _, made = self._slots.put(slot, decide)
        self._slots.renew(slot, usual)
        assert made
        return step_of(made)

    def tasks(self, *, agent: str | None = None) -> Tasks:
        """The tasks of an agent, the one that was worked on last first."""
        found: dict[str, list[WorkingEntry]] = {}
        for one in self._slots.entries(self._state.home.agent(agent)):
            if one.space == "task":
                found.setdefault(one.name, []).append(one)
        listed = [summary(name, entries) for name, entries in found.items()]
        return sorted(listed, key=lambda one: one.updated, reverse=True)

    def resume(self, name: str, *, agent: str | None = None) -> Task:
        """All that is known of a task, and what is next."""
        entries = self._slots.beside(self._slots.slot("all", agent, None, name))
        if not entries:
            raise NotFound(f"no task {name!r}, or it has expired; see `djinn working list --tasks`")
        return resumed(name, entries)

    def _usual_ttl(self, task: str | None, short: bool) -> int:
        settings = self._state.home.config.working
        if short:
            return settings.short_ttl
        return settings.ttl if task is None else settings.task_ttl

    def _checked(self, slot: WorkingSlot, value: object, allow_secret: bool) -> str:
        """A value as JSON that may be kept."""
        text = as_json(value, slot.key)
        # The key says what the value is: `password` and `hunter2`.
        said = f"{slot.key}: {value if isinstance(value, str) else text}\n{slot.name}"
        settings = self._state.home.config.secrets
        guard(said, what="the value", settings=settings, allow=allow_secret)
        return text
