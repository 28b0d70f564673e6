"""Where values of working memory lie: which of them an agent sees, and how one is put there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from djinn_memory.errors import NotFound, UsageError
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.working.values import check_name
from djinn_memory.store.expiring import WorkingEntry, WorkingSlot, forget
from djinn_memory.store.state import State

LAG = 0.01
"""Part of its time by which a task's value may be behind the last write before it is renewed."""


class ExpiredValue(Exception):
    """A value that nobody can read any more, but of which a note is to be made."""

    def __init__(self, entry: WorkingEntry) -> None:
        self.entry = entry


class WorkingScopes:
    """The working memory of a home, as one of its agents sees it.

    From a session one sees what it holds, what was set outside of any, and what was handed over:
    this is what `list` shows, where `get` looks and what `clear` forgets. From a task, and of one
    who handed something over, one sees that only.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def slot(
        self,
        key: str,
        agent: str | None,
        session: str | None,
        task: str | None,
        giver: str | None = None,
    ) -> WorkingSlot:
        """The slot that is meant; `UsageError` for names that are none."""
        given = {"--session": session, "--task": task, "--from": giver}
        named = [name for name, one in given.items() if one is not None]
        if len(named) > 1:
            raise UsageError(f"a value belongs to one of {' and '.join(named)}; give one")
        whose = self._state.home.agent(agent)
        check_name("the key", key)
        if giver is not None:
            return WorkingSlot(whose, "from", giver, key)
        if task is not None:
            return WorkingSlot(whose, "task", check_name("--task", task), key)
        name = (
            session_log.current(self._state, whose)
            if session is None
            else session_log.name(self._state, session)
        )
        return WorkingSlot(whose, "session", name, key)

    def entries(self, agent: str) -> list[WorkingEntry]:
        """All of an agent that has not expired."""
        found, now = self._state.working.entries(agent)
        return [one for one in found if live(one, now)]

    def beside(self, slot: WorkingSlot) -> list[WorkingEntry]:
        """What has not expired of the same session, task or giver."""
        return [one for one in self.entries(slot.agent) if _beside(one, slot)]

    def seen(self, slot: WorkingSlot) -> list[WorkingEntry]:
        """What has not expired and can be seen from where a slot is."""
        return _seen(self.entries(slot.agent), slot)

    def found(self, slot: WorkingSlot) -> tuple[WorkingEntry, list[str]]:
        """What is seen under a key, and who handed over another value under it.

        What the session holds comes first, then what was set outside of any, then what was handed
        over: by one, else it must be said by whom.
        """
        named = [one for one in self.seen(slot) if one.key == slot.key]
        handed = [one for one in named if one.space == "from"]
        own = sorted(
            (one for one in named if one.space != "from"), key=lambda one: not _beside(one, slot)
        )
        if own:
            return own[0], [one.name for one in handed]
        if len(handed) > 1:
            givers = ", ".join(one.name for one in handed)
            raise UsageError(f"{slot.key!r} was handed over by {givers}; choose with --from")
        if handed:
            return handed[0], []
        raise self._nothing(slot)

    def forget(self, slot: WorkingSlot, key: str | None) -> list[WorkingEntry]:
        """Empty the slots seen from this one, all or those of a key; what was in them.

        What has expired and waits to become a note is forgotten too.
        """
        store = self._state.working
        found, now = store.entries(slot.agent)
        gone = [one for one in _seen(found, slot) if key in (None, one.key)]
        if key is not None and not any(live(one, now) for one in gone):
            raise self._nothing(slot)
        for one in gone:
            store.change(one.slot, forget(one))
        return gone

    def put(
        self, slot: WorkingSlot, decide: Callable[[WorkingEntry | None, float], WorkingEntry]
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """As `WorkingStore.change`; what has expired and waits to become a note is put aside."""
        store = self._state.working
        while True:
            try:
                before, after = store.change(slot, decide)
            except ExpiredValue as found:
                aside = replace(found.entry, space="kept", name=found.entry.id)
                # A kill in between leaves two with one id, of which one note is made.
                store.change(aside.slot, lambda *_, aside=aside: aside)
                store.change(slot, forget(found.entry))
            else:
                return (before if after and live(before, after.updated) else None), after

    def renew(self, slot: WorkingSlot, ttl: int) -> None:
        """Keep all of a task as long as what is written last, but for what has its own ttl."""
        if slot.space != "task":
            return
        found, now = self._state.working.entries(slot.agent)
        for one in found:
            if _beside(one, slot) and one.ttl == ttl and one.expires < now + ttl * (1 - LAG):
                self._state.working.change(
                    one.slot, lambda there, now: there and replace(there, expires=now + ttl)
                )

    @staticmethod
    def _nothing(slot: WorkingSlot) -> NotFound:
        where = {"from": "handed over by", "task": "in task", "session": "in session"}
        return NotFound(
            f"nothing under {slot.key!r} {where[slot.space]} {slot.name}, or it has expired; "
            "see `djinn working list --all`"
        )


def extended(found: WorkingEntry, now: float, ttl: int | None) -> WorkingEntry:
    """An entry that is kept from now on, for its time or for `ttl`."""
    seconds = found.ttl if ttl is None else ttl
    return replace(found, ttl=seconds, expires=now + seconds)


def live(found: WorkingEntry | None, now: float) -> WorkingEntry | None:
    """An entry that can be read; None for what has expired."""
    return found if found and found.expires > now else None


def _seen(entries: Sequence[WorkingEntry], slot: WorkingSlot) -> list[WorkingEntry]:
    outside = replace(slot, name=session_log.OUTSIDE)
    return [
        one
        for one in entries
        if _beside(one, slot)
        or (slot.space == "session" and (one.space == "from" or _beside(one, outside)))
    ]


def _beside(one: WorkingSlot, slot: WorkingSlot) -> bool:
    return (one.space, one.name) == (slot.space, slot.name)
