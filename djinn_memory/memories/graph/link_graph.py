"""The graph of all links that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.graph.network import Network
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Edge, IndexedMemory, Selection

ALL = Selection()


class LinkGraph(Struct, frozen=True):
    """Memories and the links between them. A node has the number of its memory's place here."""

    memories: Sequence[IndexedMemory]
    """The memories, sorted by place, so that nothing hidden changes the order."""
    links: Sequence[Edge]
    """A link for each edge: the first of several with the same ends and field."""
    network: Network
    """The nodes and edges."""


def read_graph(index: Index, selection: Selection = ALL) -> LinkGraph:
    """The memories of a selection, and the links between two of them."""
    memories = sorted(index.memories(selection, fields=()), key=lambda memory: memory.address)
    node = {memory.memory_id: number for number, memory in enumerate(memories)}
    first: dict[tuple[int, int, str | None], Edge] = {}
    for link in index.edges():
        if link.source in node and link.target in node:
            first.setdefault((node[link.source], node[link.target], link.field), link)
    edges = sorted(first, key=lambda edge: (*edge[:2], edge[2] or ""))
    network = Network.of(range(len(memories)), [(source, target) for source, target, _ in edges])
    return LinkGraph(memories, [first[edge] for edge in edges], network)
