"""The memories around a memory, and the way from one memory to another."""

from __future__ import annotations

from collections.abc import Iterable

from djinn_memory.memories.graph.edges import EdgeReader
from djinn_memory.memories.graph.requests import GraphPath, Neighbour, NeighbourList
from djinn_memory.models import Memory, extended
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Edge, IndexedMemory


def links_at(index: Index, memory_ids: Iterable[int]) -> list[Edge]:
    """The links between these memories and others."""
    return [
        Edge(link.source, link.target, link.line, link.label or link.text, link.field)
        for link in index.links([*memory_ids])
        if link.target is not None and link.target != link.source
    ]


def neighbours(
    index: Index, memory: IndexedMemory, hops: int, relation: str | None, limit: int
) -> NeighbourList:
    """The memories within some links of a memory, over links of a type if one is given."""
    distances, nearest = {memory.memory_id: 0}, [memory.memory_id]
    memories = {memory.memory_id: memory}
    reader = EdgeReader(index, memories)
    links: list[Edge] = []
    for distance in range(1, hops + 1):
        listed = links_at(index, nearest)
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
    for link in sorted(links, key=lambda link: (link.field is None, link.line)):
        far = max(link[:2], key=lambda end: distances[end])
        by_memory.setdefault(far, []).append(link)
    return NeighbourList(
        extended(memory, Memory),
        tuple(
            extended(
                memories[key],
                Neighbour,
                distance=distances[key],
                edges=tuple(edge for edge in reader.edges(by_memory[key], distances)),
            )
            for key in ordered[:limit]
        ),
        len(ordered),
    )


def path(index: Index, start: IndexedMemory, end: IndexedMemory) -> GraphPath:
    """A shortest path; of several, the one whose memories come first by place."""
    distances = _towards(index, start.memory_id, end.memory_id)
    if start.memory_id not in distances:
        return GraphPath((), ())
    memories, links = {start.memory_id: start}, []
    way = [start.memory_id]
    while way[-1] != end.memory_id:
        listed = links_at(index, way[-1:])
        nearer = {
            other
            for link in listed
            for other in link[:2]
            if distances.get(other) == distances[way[-1]] - 1
        }
        memories |= index.lookup(nearer, fields=())
        way.append(min(nearer, key=lambda key: memories[key].address))
        links.append([link for link in listed if way[-1] in link[:2]])
    steps = {key: step for step, key in enumerate(way)}
    reader = EdgeReader(index, memories)
    edges = (next(reader.edges(sorted(step, key=_stated_first), steps)) for step in links)
    return GraphPath(tuple(extended(memories[key], Memory) for key in way), tuple(edges))


def _towards(index: Index, start: int, end: int) -> dict[int, int]:
    """The distances to `end`, up to that of `start`."""
    near: dict[int, set[int]] = {}
    for link in index.edges():
        near.setdefault(link.source, set()).add(link.target)
        near.setdefault(link.target, set()).add(link.source)
    distances, reached = {end: 0}, {end}
    while reached and start not in distances:
        distance = distances[next(iter(reached))] + 1
        reached = set().union(*(near.get(key, ()) for key in reached)) - distances.keys()
        distances |= dict.fromkeys(reached, distance)
    return distances


def _stated_first(link: Edge) -> tuple[bool, int]:
    return link.field is None, link.line
