"""The verbs of working memory: what an agent holds for minutes, and the context of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from djinn_memory.errors import NotFound, UsageError
from djinn_memory.memories import sessions
from djinn_memory.memories.opened import Noun
from djinn_memory.memories.tasks import (
    STEP,
    Status,
    Step,
    Task,
    TaskEntry,
    resumed,
    step_of,
    summary,
)
from djinn_memory.memories.values import (
    Type,
    Value,
    appended,
    as_json,
    check_name,
    check_ttl,
    value_of,
)
from djinn_memory.models import Problem
from djinn_memory.secrets import guard
from djinn_memory.store.ledger import uuid7
from djinn_memory.store.working import Entry, Slot, Unwritable, WorkingStore, forget

LAG = 0.01
"""Part of its time by which a task's value may be behind the last write before it is renewed."""

Values: TypeAlias = list[Value]
Entries: TypeAlias = list[Entry]
Tasks: TypeAlias = list[TaskEntry]


class Set(Struct, frozen=True):
    """A value that was set, and the one that it replaced."""

    now: Value
    replaced: Value | None


class Working(Noun):
    """The working memory of a home. Each agent sees its own, and what others handed to it.

    A value belongs to a session, by default the current one, or to a task, which outlives sessions.
    """

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
    ) -> Set:
        """Keep text, or what JSON can say, for `ttl` seconds; else as long as the settings say.

        With `append` it becomes the last item of the list there, which keeps `working.history`.
        """
        slot = self._slot(key, agent, session, task)
        if type is not None and type not in get_args(Type):
            raise UsageError(f"type {type!r}: allowed: {', '.join(get_args(Type))}")
        text = self._checked(slot, value, allow_secret)
        usual, most = self._usual_ttl(task, short), self._state.home.config.working.history

        def decide(before: Entry | None, now: float) -> Entry:
            live = _live(before, now)
            if live and live.type == STEP:
                raise UsageError(f"{key!r} is a step of the task; give its --status")
            if before and before.earned and not live:
                raise _Waiting(before)
            made = Entry(
                **asdict(slot), id=uuid7(), value=text, type=type, tier="short" if short else
                "working", created=now, updated=now, ttl=usual, expires=now,
            )  # fmt: skip
            if append:
                made = appended(live, made, most)
            return _extended(made, now, ttl)

        check_ttl(ttl)
        if short and type is None:
            type = "observation"
        before, after = self._put(slot, decide)
        self._renew(slot, usual)
        assert after
        return Set(value_of(after), value_of(before) if before and not append else None)

    def get(
        self,
        key: str,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        giver: str | None = None,
    ) -> Value:
        """What lies under a key, which counts as a use of it.

        What the current session lacks is looked for in what was set outside of any, then in what
        was handed over, by `giver` or by anybody.
        """
        slot = self._found(key, agent, session, task, giver).slot

        def use(found: Entry | None, now: float) -> Entry | None:
            live = _live(found, now)
            return replace(live, uses=live.uses + 1, used=now) if live else found

        try:
            after = self._store.change(slot, use)[1]
        except Unwritable as error:
            self._state.problems.append(Problem("working memory", f"{error}; no use is counted"))
            after = self._found(key, agent, session, task, giver)
        # It may have expired just now.
        return value_of(after or self._found(key, agent, session, task, giver))

    def list(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        every: bool = False,
    ) -> Values:
        """What a session or task holds, and what was handed over; with `every` all there is."""
        entries = self._entries(self._state.home.agent(agent))
        if every:
            return [value_of(one) for one in entries if one.space != "kept"]
        slot = self._slot("all", agent, session, task)
        more = []
        if session is task is None:
            more = [("session", sessions.OUTSIDE)]
        return [
            value_of(one)
            for one in entries
            if _beside(one, slot)
            or (one.space, one.name) in more
            or (task is None and one.space == "from")
        ]

    def clear(
        self,
        key: str | None = None,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        giver: str | None = None,
    ) -> Values:
        """Forget a value, or all of a session or of a task; returns what it was."""
        if key is not None:
            gone = [self._found(key, agent, session, task, giver)]
        else:
            slot = self._slot("all", agent, session, task, giver)
            gone = [one for one in self._store.entries(slot.agent)[0] if _beside(one, slot)]
        for one in gone:
            self._store.change(one.slot, forget(one))
        return [value_of(one) for one in gone]

    def share(
        self,
        key: str,
        to: str,
        *,
        agent: str | None = None,
        session: str | None = None,
        task: str | None = None,
        ttl: int | None = None,
    ) -> Set:
        """Hand a copy of a value to another agent, for as long as it is kept, or for `ttl`."""
        check_ttl(ttl)
        found = self._found(key, agent, session, task, None)
        if self._state.home.agent(to) == found.agent:
            raise UsageError(f"--to {to}: that is whose value it is; name another agent")
        slot = Slot(to, "from", found.agent, found.key)

        def decide(before: Entry | None, now: float) -> Entry:
            if before and before.earned and not _live(before, now):
                raise _Waiting(before)
            fields = {**asdict(found), **asdict(slot)}
            fields |= {"id": uuid7(), "created": now, "updated": now, "uses": 0, "used": None}
            fields |= {"claim": None, "claimed": None}
            return Entry(**fields) if ttl is None else _extended(Entry(**fields), now, ttl)

        before, after = self._put(slot, decide)
        assert after
        return Set(value_of(after), value_of(before) if before else None)

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
    ) -> Step:
        """Add a step to a task, or say how it goes; what is not given stays as it was.

        `after` names the steps that must be completed before it.
        """
        slot = self._slot(title, agent, None, task)
        if status not in get_args(Status):
            raise UsageError(f"--status {status}: allowed: {', '.join(get_args(Status))}")
        check_ttl(ttl)
        known = {one.key for one in self._of_task(slot) if one.type == STEP} - {title}
        for name in after:
            if name not in known:
                steps = ", ".join(sorted(known)) or "none"
                raise UsageError(f"--after {name!r}: no such step before it; there are: {steps}")
        self._checked(slot, result, allow_secret)
        usual = self._usual_ttl(task, False)

        def decide(before: Entry | None, now: float) -> Entry:
            live = _live(before, now)
            if live and live.type != STEP:
                raise UsageError(
                    f"{title!r} is a value of the task, and no step; name it otherwise"
                )
            if live:
                was = step_of(live)
                kept = was.result if result is None else result
                said = {"status": status, "result": kept, "after": after or was.after}
                made = replace(live, value=as_json(said, title), updated=now)
            else:
                said = {"status": status, "result": result, "after": after}
                made = Entry(
                    **asdict(slot), id=uuid7(), value=as_json(said, title), type=STEP, created=now,
                    updated=now, ttl=usual, expires=now,
                )  # fmt: skip
            return _extended(made, now, ttl)

        _, made = self._put(slot, decide)
        self._renew(slot, usual)
        assert made
        return step_of(made)

    def tasks(self, *, agent: str | None = None) -> Tasks:
        """The tasks of an agent, the one that was worked on last first."""
        found: dict[str, list[Entry]] = {}
        for one in self._entries(self._state.home.agent(agent)):
            if one.space == "task":
                found.setdefault(one.name, []).append(one)
        listed = [summary(name, entries) for name, entries in found.items()]
        return sorted(listed, key=lambda one: one.updated, reverse=True)

    def resume(self, name: str, *, agent: str | None = None) -> Task:
        """All that is known of a task, and what is next."""
        entries = self._of_task(self._slot("all", agent, None, name))
        if not entries:
            raise NotFound(f"no task {name!r}, or it has expired; see `djinn working list --tasks`")
        return resumed(name, entries)

    def _slot(
        self,
        key: str,
        agent: str | None,
        session: str | None,
        task: str | None,
        giver: str | None = None,
    ) -> Slot:
        if sum(one is not None for one in (session, task, giver)) > 1:
            raise UsageError("a value belongs to one of --session, --task and --from; give one")
        whose = self._state.home.agent(agent)
        check_name("the key", key)
        if giver is not None:
            return Slot(whose, "from", giver, key)
        if task is not None:
            return Slot(whose, "task", check_name("--task", task), key)
        name = (
            sessions.current(self._state, whose)
            if session is None
            else sessions.name(self._state, session)
        )
        return Slot(whose, "session", name, key)

    def _entries(self, agent: str) -> Entries:
        found, now = self._store.entries(agent)
        return [one for one in found if _live(one, now)]

    def _of_task(self, slot: Slot) -> Entries:
        return [one for one in self._entries(slot.agent) if _beside(one, slot)]

    def _found(
        self,
        key: str,
        agent: str | None,
        session: str | None,
        task: str | None,
        giver: str | None,
    ) -> Entry:
        slot = self._slot(key, agent, session, task, giver)
        named = {one.slot: one for one in self._entries(slot.agent) if one.key == key}
        places = [slot]
        if session is task is giver is None:
            places.append(replace(slot, name=sessions.OUTSIDE))
        for place in places:
            if place in named:
                return named[place]
        handed = [one for one in named.values() if one.space == "from"]
        if len(places) > 1 and handed:
            if len(handed) > 1:
                givers = ", ".join(one.name for one in handed)
                raise UsageError(f"{key!r} was handed over by {givers}; choose with --from")
            return handed[0]
        where = {"from": "handed over by", "task": "in task", "session": "in session"}
        raise NotFound(
            f"nothing under {key!r} {where[slot.space]} {slot.name}, or it has expired; "
            "see `djinn working list --all`"
        )

    def _put(
        self, slot: Slot, decide: Callable[[Entry | None, float], Entry]
    ) -> tuple[Entry | None, Entry | None]:
        """As `WorkingStore.change`; what has expired and waits to become a note is put aside."""
        while True:
            try:
                before, after = self._store.change(slot, decide)
            except _Waiting as found:
                aside = replace(found.entry, space="kept", name=found.entry.id)
                # A kill in between leaves two with one id, of which one note is made.
                self._store.change(aside.slot, lambda *_, aside=aside: aside)
                self._store.change(slot, forget(found.entry))
            else:
                return (before if after and _live(before, after.updated) else None), after

    def _renew(self, slot: Slot, ttl: int) -> None:
        """Keep all of a task as long as what is written last, but for what has its own ttl."""
        if slot.space != "task":
            return
        found, now = self._store.entries(slot.agent)
        for one in found:
            if _beside(one, slot) and one.ttl == ttl and one.expires < now + ttl * (1 - LAG):
                self._store.change(
                    one.slot, lambda there, now: there and replace(there, expires=now + ttl)
                )

    def _usual_ttl(self, task: str | None, short: bool) -> int:
        settings = self._state.home.config.working
        if short:
            return settings.short_ttl
        return settings.ttl if task is None else settings.task_ttl

    def _checked(self, slot: Slot, value: object, allow_secret: bool) -> str:
        """A value as JSON that may be kept."""
        text = as_json(value, slot.key)
        # The key says what the value is: `password` and `hunter2`.
        said = f"{slot.key}: {value if isinstance(value, str) else text}\n{slot.name}"
        settings = self._state.home.config.secrets
        guard(said, what="the value", settings=settings, allow=allow_secret)
        return text


class _Waiting(Exception):
    """A value that nobody can read any more, but of which a note is to be made."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry


def _extended(found: Entry, now: float, ttl: int | None) -> Entry:
    seconds = found.ttl if ttl is None else ttl
    return replace(found, ttl=seconds, expires=now + seconds)


def _live(found: Entry | None, now: float) -> Entry | None:
    return found if found and found.expires > now else None


def _beside(one: Slot, slot: Slot) -> bool:
    return (one.space, one.name) == (slot.space, slot.name)
