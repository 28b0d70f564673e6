"""Which rows of the tables that follow from events some events change. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from djinn_memory.store.ledger.changes import StoredEvent

GAPS = ("gap.reported", "gap.closed", "gap.reopened")
"""Kinds of events whose subject is a gap."""

USES = ("memory.opened", "memory.rated")
"""Kinds of events whose subject is a memory."""

RETRIEVED = "memory.retrieved"
"""The kind of event that a recall showed memories."""


class AffectedKeys(Struct, frozen=True):
    """What events are about. Rows about anything else stay as they are."""

    memories: frozenset[tuple[str, str]]
    """Agents and memories."""
    gaps: frozenset[str]
    requests: frozenset[str]
    """Recalls. One that found nothing has a row without a memory."""

    @property
    def pairs(self) -> tuple[list[str], list[str]]:
        """The agents and the memories, in the same order."""
        return [agent for agent, _ in self.memories], [memory for _, memory in self.memories]

    def include(self, column: str, row: dict[str, Any]) -> bool:
        """Whether a row is about one of them. `column` is `id` for gaps, and `memory_id`."""
        if column == "id":
            return row["id"] in self.gaps
        if not row["memory_id"]:
            return row.get("request_id") in self.requests
        return (row["agent_id"], row["memory_id"]) in self.memories


def affected(events: Iterable[StoredEvent]) -> AffectedKeys:
    """What these events are about."""
    memories: set[tuple[str, str]] = set()
    gaps: set[str] = set()
    requests: set[str] = set()
    for _, _, event in events:
        agent = str(event.data.get("agent"))
        if event.kind in GAPS:
            gaps.add(event.subject)
        elif event.kind in USES:
            memories.add((agent, event.subject))
        elif event.kind == RETRIEVED:
            listed = event.data.get("memories")
            shown = listed if isinstance(listed, list) else []
            names = {str(each.get("memory")) for each in shown if isinstance(each, dict)}
            memories |= {(agent, name) for name in names}
            requests.add(event.subject)
    return AffectedKeys(frozenset(memories), frozenset(gaps), frozenset(requests))
