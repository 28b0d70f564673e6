"""The values of working memory: which are valid, which an agent sees, and how they are stored."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import NotFound, Remedy, UsageError
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.working.requests import MOST_CHARACTERS, WorkingValue
from djinn_memory.models import extended
from djinn_memory.notes.dates import moment
from djinn_memory.store.expiring import WorkingEntry, WorkingSlot, forget
from djinn_memory.store.state import State


def value_of(entry: WorkingEntry) -> WorkingValue:
    """An entry as answers show it."""
    scope = {entry.space: entry.name}
    try:
        value = msgspec.json.decode(entry.value)
    except (msgspec.DecodeError, RecursionError):
        value = entry.value
    return extended(
        entry,
        WorkingValue,
        value=value,
        session=scope.get("session"),
        task=scope.get("task"),
        given_by=scope.get("from"),
        created=iso(entry.created),
        updated=iso(entry.updated),
        expires=iso(entry.expires),
        last_used=None if entry.used is None else iso(entry.used),
    )


def iso(seconds: float) -> str:
    """A time of the store as ISO 8601 in UTC."""
    return moment(datetime.fromtimestamp(seconds, UTC))


def _check_name(field: str, name: str) -> str:
    """Return `name`. Raises `UsageError` for the field if it is not a valid name."""
    odd = any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name)
    if odd or not name.strip() or len(name) > MOST_CHARACTERS:
        raise UsageError(
            f"{name[:40]!r} is not a valid name; use 1 to {MOST_CHARACTERS} characters on one line",
            argument=field,
        )
    return name


LAG = 0.01
"""The share of its lifetime by which a task's value may expire before its newest value."""


class WorkingScopes:
    """The working memory of a home, as one of its agents sees it.

    A session sees its own values, the values set outside of any session, and shared values. `list`,
    `get` and `clear` all use this scope. A task sees only its own values, and so does the scope of
    an agent who shared values.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def slot(
        self,
        key: str,
        agent: str | None,
        session: str | None = None,
        task: str | None = None,
        giver: str | None = None,
    ) -> WorkingSlot:
        """The slot that a request means. Raises `UsageError` for invalid names."""
        scopes = (
            (session, Remedy("", {"session": None})),
            (task, Remedy("", {"task": None})),
            (giver, Remedy("", {"giver": None})),
        )
        given = [remedy for name, remedy in scopes if name is not None]
        if len(given) > 1:
            raise UsageError(
                "a value belongs to one session, one task or one sharing agent", *given
            )
        agent = self._state.home.agent(agent)
        _check_name("key", key)
        if giver is not None:
            return WorkingSlot(agent, "from", giver, key)
        if task is not None:
            return WorkingSlot(agent, "task", _check_name("task", task), key)
        name = (
            session_log.current(self._state, agent)
            if session is None
            else session_log.name(self._state, session)
        )
        return WorkingSlot(agent, "session", name, key)

    def entries(self, agent: str) -> list[WorkingEntry]:
        """All entries of an agent that have not expired."""
        entries, now = self._state.working.entries(agent)
        return [entry for entry in entries if live(entry, now)]

    def same_scope(self, slot: WorkingSlot) -> list[WorkingEntry]:
        """The unexpired entries of the same session, task or sharing agent."""
        return [entry for entry in self.entries(slot.agent) if _same_scope(entry, slot)]

    def visible(self, slot: WorkingSlot) -> list[WorkingEntry]:
        """The unexpired entries that are visible in the slot's scope."""
        return _visible(self.entries(slot.agent), slot)

    def lookup(self, slot: WorkingSlot) -> tuple[WorkingEntry, list[str]]:
        """The entry under a key, and the agents who shared other entries under it.

        The session's own entry comes first, then an entry set outside of any session, then a shared
        entry. Raises `UsageError` when several agents shared one.
        """
        entries = [entry for entry in self.visible(slot) if entry.key == slot.key]
        handed = [entry for entry in entries if entry.space == "from"]
        own = sorted(
            (entry for entry in entries if entry.space != "from"),
            key=lambda entry: not _same_scope(entry, slot),
        )
        if own:
            return own[0], [entry.name for entry in handed]
        if len(handed) > 1:
            givers = ", ".join(entry.name for entry in handed)
            choose = Remedy("", {"giver": None}, "choose an agent")
            raise UsageError(f"{slot.key!r} was shared by {givers}", choose)
        if handed:
            return handed[0], []
        raise self._nothing(slot)

    def forget(self, slot: WorkingSlot, key: str | None) -> list[WorkingEntry]:
        """Remove the entries that the slot's scope sees, or those with its key. Returns them.

        Expired entries that were due to become notes are removed too.
        """
        store = self._state.working
        entries, now = store.entries(slot.agent)
        gone = [entry for entry in _visible(entries, slot) if key in (None, entry.key)]
        if key is not None and not any(live(entry, now) for entry in gone):
            raise self._nothing(slot)
        for entry in gone:
            store.change(entry.slot, forget(entry))
        return gone

    def put(
        self, slot: WorkingSlot, decide: Callable[[WorkingEntry | None, float], WorkingEntry]
    ) -> tuple[WorkingEntry | None, WorkingEntry]:
        """Replace the unexpired entry with the result of `decide`. Returns the old and new entry.

        An expired entry that will still become a note moves to a separate slot.
        """

        def change(before: WorkingEntry | None, now: float) -> WorkingEntry | None:
            current = live(before, now)
            waits = before and before.earned and not current
            return before if waits else decide(current, now)

        store = self._state.working
        while True:
            before, after = store.change(slot, change)
            if before is None or after is not before:
                assert after
                return live(before, after.updated), after
            aside = replace(before, space="kept", name=before.id)
            # A kill in between leaves two entries with one id, which make one note.
            store.change(aside.slot, lambda *_, aside=aside: aside)
            store.change(slot, forget(before))

    def renew(self, slot: WorkingSlot, ttl: int) -> None:
        """Extend all entries of a task to the expiry of its last one, if they have the same ttl."""
        if slot.space != "task":
            return
        entries, now = self._state.working.entries(slot.agent)
        for entry in entries:
            lags = entry.expires < now + ttl * (1 - LAG)
            if _same_scope(entry, slot) and entry.ttl == ttl and lags:
                self._state.working.change(
                    entry.slot, lambda current, now: current and replace(current, expires=now + ttl)
                )

    @staticmethod
    def _nothing(slot: WorkingSlot) -> NotFound:
        where = {"from": "shared by", "task": "in task", "session": "in session"}
        return NotFound(
            f"no value {slot.key!r} {where[slot.space]} {slot.name}, or it has expired",
            Remedy("working.list", {"all": True}, "list all values"),
        )


def live(entry: WorkingEntry | None, now: float) -> WorkingEntry | None:
    """The entry, or None if it has expired."""
    return entry if entry and entry.expires > now else None


def _visible(entries: Sequence[WorkingEntry], slot: WorkingSlot) -> list[WorkingEntry]:
    outside = replace(slot, name=session_log.OUTSIDE)
    return [
        entry
        for entry in entries
        if _same_scope(entry, slot)
        or (slot.space == "session" and (entry.space == "from" or _same_scope(entry, outside)))
    ]


def _same_scope(entry: WorkingSlot, slot: WorkingSlot) -> bool:
    return (entry.space, entry.name) == (slot.space, slot.name)
