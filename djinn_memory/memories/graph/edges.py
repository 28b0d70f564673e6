"""Links as edges of a graph, with the type and the confidence that their notes state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from djinn_memory.errors import DjinnError
from djinn_memory.memories.entities.detail import linked_values, read_note
from djinn_memory.memories.entities.names import is_entity
from djinn_memory.memories.graph.requests import Direction, GraphEdge
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Edge, IndexedMemory

REFERENCES = "references"
"""The type of a link in the text of a note."""


class EdgeReader:
    """Turns links into edges. It reads the notes of entities, which state types of links."""

    def __init__(self, index: Index, memories: Mapping[int, IndexedMemory]) -> None:
        """`memories` have both ends of every link."""
        self._memories = memories
        self._vaults = {vault.name: vault for vault in index.vaults}
        self._addresses: dict[int, str] = {}
        self._stated: dict[int, dict[str, tuple[str, float]]] = {}

    def edges(
        self, links: Iterable[Edge], distances: Mapping[int, int] | None = None
    ) -> Iterator[GraphEdge]:
        """The edges of links. Of links with the same ends and type it is the first.

        `distances` from the memory that was named give the directions.
        """
        seen = set()
        for link in links:
            kind, confidence = self.meaning(link)
            if (same := (link.source, link.target, kind)) in seen:
                continue
            seen.add(same)
            direction: Direction = "out"
            if distances and distances[link.source] > distances[link.target]:
                direction = "in"
            yield GraphEdge(
                source=self._address(link.source),
                target=self._address(link.target),
                type=kind,
                confidence=confidence,
                direction=direction,
                text=link.text,
            )

    def _address(self, memory_id: int) -> str:
        """The address of a memory, which many edges share."""
        if memory_id not in self._addresses:
            self._addresses[memory_id] = self._memories[memory_id].address
        return self._addresses[memory_id]

    def meaning(self, link: Edge) -> tuple[str, float]:
        """The type and the confidence of a link."""
        stated = self._properties(link.source).get(link.text, (REFERENCES, 1.0))
        return (link.field, stated[1]) if link.field else stated

    def _properties(self, memory_id: int) -> dict[str, tuple[str, float]]:
        """The property of an entity whose value is a link, and its confidence, by link text."""
        if memory_id not in self._stated:
            stated = self._stated[memory_id] = {}
            memory = self._memories[memory_id]
            if is_entity(memory):
                with suppress(OSError, DjinnError):
                    for linked in linked_values(read_note(self._vaults[memory.vault], memory.path)):
                        confidence = linked.value.confidence
                        meaning = linked.key, 1.0 if confidence is None else confidence
                        stated.setdefault(linked.label, meaning)
        return self._stated[memory_id]
