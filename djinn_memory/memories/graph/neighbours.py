"""The memories around a memory, and the way from one memory to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from djinn_memory.memories.graph.edges import EdgeReader
from djinn_memory.memories.graph.requests import GraphPath, Neighbour, NeighbourList
from djinn_memory.models import Memory, extended
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Edge, IndexedMemory


def neighbours(
    index: Index, memory: IndexedMemory, hops: int, relation: str | None, limit: int
) -> NeighbourList:
    """The memories within some links of a memory, over links of a type if one is given."""
    distances, nearest = {memory.memory_id: 0}, [memory.memory_id]
    memories = {memory.memory_id: memory}
    reader = EdgeReader(index, memories)
    links: list[Edge] = []
    for distance in range(1, hops + 1):
        listed = [
            Edge(link.source, link.target, link.line, link.label or link.text, link.field)
            for link in index.links(nearest)
            if link.target is not None and link.target != link.source
        ]
        ends = {end for link in listed for end in (link.source, link.target)}
        memories |= index.lookup(ends - memories.keys(), fields=())
        if relation is not None:
            listed = [link for link in listed if reader.meaning(link)[0] == relation]
        reached = {end for link in listed for end in link[:2]} - distances.keys()
        distances |= dict.fromkeys(reached, distance)
        links += [link for link in listed if reached.intersection(link[:2])]
        nearest = [*reached]
    own = distances.keys() - {memory.memory_id}
    ordered = sorted(own, key=lambda key: (distances[key], memories[key].address))
    by_memory: dict[int, list[Edge]] = {}
    for link in _stated_first(links, memories):
        far = max(link[:2], key=lambda end: distances[end])
        by_memory.setdefault(far, []).append(link)
    return NeighbourList(
        extended(memory, Memory),
        tuple(
            extended(
                memories[key],
                Neighbour,
                distance=distances[key],
                edges=tuple(reader.edges(by_memory[key], distances)),
            )
            for key in ordered[:limit]
        ),
        len(ordered),
    )


def path(index: Index, start: IndexedMemory, end: IndexedMemory) -> GraphPath:
    """A shortest path; of several, the one whose memories come first by place."""
    from djinn_memory.graph.network import Network

    links, memories = index.edges(), {start.memory_id: start, end.memory_id: end}
    network = Network.of({*memories, *(key for link in links for key in link[:2])},
                         (link[:2] for link in links))  # fmt: skip
    distances = network.distances(network.node(end.memory_id))
    distance = int(distances[network.node(start.memory_id)])
    way = [start.memory_id] if distance >= 0 else []
    for left in reversed(range(distance)):
        near = network.neighbours([network.node(way[-1])])
        nearer = index.lookup(network.keys[near[distances[near] == left]].tolist(), fields=())
        memories |= nearer
        way.append(min(nearer, key=lambda key: memories[key].address))
    steps = {key: step for step, key in enumerate(way)}
    reader = EdgeReader(index, memories)
    listed = _stated_first((link for link in links if steps.keys() >= {*link[:2]}), memories)
    edges = (
        next(reader.edges([link for link in listed if {*link[:2]} == {*pair}], steps))
        for pair in pairwise(way)
    )
    return GraphPath(tuple(extended(memories[key], Memory) for key in way), tuple(edges))


def _stated_first(links: Iterable[Edge], memories: Mapping[int, IndexedMemory]) -> list[Edge]:
    """Links by place, those in the front matter first."""
    return sorted(
        links,
        key=lambda link: (link.field is None, memories[link.source].address, link.line),
    )
