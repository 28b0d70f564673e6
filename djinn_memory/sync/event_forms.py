"""The form in which events go to a server and come from it.

Agents of two homes may have one name. In the scope of a vault that is not an agent's own, its uses
and ratings are those of its name and the first digits of the id of its own vault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from djinn_memory.errors import NotFound
from djinn_memory.memories.catalog.identity import located
from djinn_memory.memories.recall.gap_answers import CLOSED
from djinn_memory.store.ledger.affected import RETRIEVED, USES
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.events import Event
from djinn_memory.sync.notes.link import VaultLink

DIGITS = 8
"""Number of digits of a vault's id in the name of its agent."""


def as_sent(link: VaultLink, events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """These events of the ledger as they go to the server.

    A recall shows memories of all vaults that its agent sees, and any of them may close a gap.
    Those are not named there whose vault does not go to the server, or is not known any more.
    """
    listed = [*events]
    vaults = {vault.id: vault for vault in (link.vault, *link.runtime.home.synced)}
    # Events of earlier versions do not name the vaults of memories.
    unnamed = {name for stored in listed for name in _without_vault(stored.event)}
    with link.runtime.index([*vaults.values()]) as index:
        known = {*located(index, unnamed)} if unnamed else set()
    names = agent_names(link)
    return [
        stored._replace(event=_renamed(_only(stored.event, vaults, known), names))
        for stored in listed
    ]


def as_received(link: VaultLink, events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """These events of the server as the ledger keeps them."""
    names = {theirs: own for own, theirs in agent_names(link).items()}
    return [stored._replace(event=_renamed(stored.event, names)) for stored in events]


def with_agent_of(link: VaultLink, own: StoredEvent, server: StoredEvent) -> StoredEvent:
    """An event of the ledger, with the server's name of an agent that this home has no more."""
    agent, theirs = own.event.data.get("agent"), str(server.event.data.get("agent"))
    if agent in link.runtime.home.config.agents or not theirs.startswith(f"{agent}-"):
        return own
    return own._replace(event=_renamed(own.event, {str(agent): theirs}))


def agent_names(link: VaultLink) -> dict[str, str]:
    """The names on the server of this home's agents whose own vault is another one."""
    home, names = link.runtime.home, dict[str, str]()
    for agent in home.config.agents:
        with suppress(NotFound):
            own = home.personal(agent).id
            if own != link.vault.id:
                names[agent] = f"{agent}-{own[:DIGITS]}"
    return names


def _renamed(event: Event, names: Mapping[str, str]) -> Event:
    """An event about a memory whose agent has the name that these names have for it."""
    agent = event.data.get("agent")
    if event.kind not in USES or not isinstance(agent, str) or agent not in names:
        return event
    return replace(event, data={**event.data, "agent": names[agent]})


def _only(event: Event, vaults: Collection[str], memories: Collection[str]) -> Event:
    """An event that names only memories of these vaults, and these memories."""

    def goes(memory: dict[str, Any]) -> bool:
        name = str(memory.get("memory"))
        return str(memory.get("vault", name.partition("/")[0])) in vaults or name in memories

    data = dict(event.data)
    if event.kind == RETRIEVED:
        data["memories"] = [memory for memory in _memories(event) if goes(memory)]
    elif event.kind == CLOSED and not goes({"memory": data.get("by")}):
        data["by"] = None
    return replace(event, data=data) if data != event.data else event


def _without_vault(event: Event) -> list[str]:
    """The memories that an event names without their vault."""
    if event.kind == CLOSED:
        return [str(event.data.get("by"))]
    return [str(each.get("memory")) for each in _memories(event) if "vault" not in each]


def _memories(event: Event) -> list[dict[str, Any]]:
    """The memories that a recall showed."""
    listed = event.data.get("memories") if event.kind == RETRIEVED else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
