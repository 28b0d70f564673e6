"""Translates events between the ledger and a server.

Agents of two homes may have the same name. In a vault other than an agent's own, the server
therefore adds the first digits of the id of its own vault to its name in uses and ratings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from djinn_memory.errors import NotFound
from djinn_memory.memories.catalog.catalog import located
from djinn_memory.memories.recall.gap_answers import CLOSED
from djinn_memory.store.ledger.affected import RETRIEVED, USES
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.events import Event
from djinn_memory.sync.notes.link import VaultLink

DIGITS = 8
"""Number of digits of a vault's id in the name of its agent."""


def as_sent(link: VaultLink, events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Events of the ledger in the form in which they go to the server.

    A recall shows memories of all vaults that its agent sees, and any of them may close a gap or
    contradict another. The server gets no names of memories whose vault does not go to it, or is no
    longer known.
    """
    listed = [*events]
    vaults = {vault.id: vault for vault in (link.vault, *link.runtime.home.synced)}
    # Events of earlier versions do not name the vaults of memories.
    unnamed = {name for stored in listed for name in _without_vault(stored.event)}
    with link.runtime.index([*vaults.values()]) as index:
        known = {*located(index, unnamed)} if unnamed else set()
    names = _agent_names(link)
    return [
        stored._replace(event=_renamed(_restricted(stored.event, vaults, known), names))
        for stored in listed
    ]


def is_emptied(stored: StoredEvent, form: StoredEvent) -> bool:
    """Whether the form in which a recall goes to the server names none of its memories."""
    return bool(stored.event.data.get("memories")) and not form.event.data.get("memories")


def as_received(link: VaultLink, events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Events of the server in the form in which the ledger keeps them."""
    names = {theirs: own for own, theirs in _agent_names(link).items()}
    return [stored._replace(event=_renamed(stored.event, names)) for stored in events]


def with_agent_of(own: StoredEvent, server: StoredEvent) -> StoredEvent:
    """An event of the ledger, with the name that its agent had when the event was sent.

    Since then the agent may have been removed, or its own vault may have become another one.
    """
    agent, theirs = own.event.data.get("agent"), str(server.event.data.get("agent"))
    if theirs[:-DIGITS] != f"{agent}-":
        return own
    return own._replace(event=_renamed(own.event, {str(agent): theirs}))


def _agent_names(link: VaultLink) -> dict[str, str]:
    """The names on the server of this home's agents whose own vault is another one."""
    home, names = link.runtime.home, dict[str, str]()
    for agent in home.config.agents:
        with suppress(NotFound):
            own = home.personal(agent).id
            if own != link.vault.id:
                names[agent] = f"{agent}-{own[:DIGITS]}"
    return names


def _renamed(event: Event, names: Mapping[str, str]) -> Event:
    """An event; if it is a use or a rating, its agent is renamed as `names` says."""
    agent = event.data.get("agent")
    if event.kind not in USES or not isinstance(agent, str) or agent not in names:
        return event
    return replace(event, data={**event.data, "agent": names[agent]})


def _restricted(event: Event, vaults: Collection[str], memories: Collection[str]) -> Event:
    """An event without the names of memories that are neither in these vaults nor among these."""

    def goes(memory: dict[str, Any]) -> bool:
        name = str(memory.get("memory"))
        return str(memory.get("vault", name.partition("/")[0])) in vaults or name in memories

    data = dict(event.data)
    if event.kind == RETRIEVED:
        data["memories"] = [memory for memory in _memories(event) if goes(memory)]
    elif event.kind == CLOSED and not goes({"memory": data.get("by")}):
        data["by"] = None
    elif not all(goes({"memory": name}) for name in _subjects(event)):
        del data["subjects"]
    return replace(event, data=data) if data != event.data else event


def _without_vault(event: Event) -> list[str]:
    """The memories that an event names without their vault."""
    if event.kind == CLOSED:
        return [str(event.data.get("by"))]
    shown = [str(memory.get("memory")) for memory in _memories(event) if "vault" not in memory]
    return shown + _subjects(event)


def _subjects(event: Event) -> list[str]:
    """The memories that contradict each other."""
    listed = event.data.get("subjects")
    return [str(name) for name, _ in listed] if isinstance(listed, list) else []


def _memories(event: Event) -> list[dict[str, Any]]:
    """The memories that a recall showed."""
    listed = event.data.get("memories") if event.kind == RETRIEVED else None
    memories = listed if isinstance(listed, list) else []
    return [memory for memory in memories if isinstance(memory, dict)]
