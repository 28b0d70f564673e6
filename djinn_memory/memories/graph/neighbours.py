"""The memories around a memory, and the way from one memory to another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

from djinn_memory.memories.graph.edges import EdgeReader
from djinn_memory.memories.graph.requests import GraphPath, Neighbour, NeighbourList
from djinn_memory.models import Memory, extended
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Edge, IndexedMemory

READS, MANY = 8, 1_000
"""Number of reads of links around memories, and of memories in such a read, from which on all links
are read at once. That takes as long as to read those around 5,000 memories."""


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
    links = _LocalLinks(index)
    layers = _layers(links, start.memory_id, end.memory_id)
    memories = index.lookup({key for layer in layers for key in layer}, fields=())
    way: list[int] = []
    for layer in layers:
        nearest = layer & links.near(way[-1:]) if way else layer
        way.append(min(nearest, key=lambda key: memories[key].address))
    steps = {key: step for step, key in enumerate(way)}
    reader = EdgeReader(index, memories)
    between = [link for link in links_at(index, way) if {*link[:2]} <= {*way}]
    listed = _stated_first(between, memories)
    edges = (
        next(reader.edges([link for link in listed if {*link[:2]} == {*pair}], steps))
        for pair in pairwise(way)
    )
    return GraphPath(tuple(extended(memories[key], Memory) for key in way), tuple(edges))


def _layers(links: _LocalLinks, start: int, end: int) -> list[set[int]]:
    """The memories of all shortest paths, by their distance from `start`; none if there is no path.

    The search goes on from both ends, each time from the end that has reached fewer memories.
    """
    if start == end:
        return [{start}]
    reached = [[{start}], [{end}]]
    seen = [{start}, {end}]
    while not (met := reached[0][-1] & reached[1][-1]):
        side = int(len(reached[1][-1]) < len(reached[0][-1]))
        following = links.near(reached[side][-1]) - seen[side]
        if not following:
            return []
        reached[side].append(following)
        seen[side] |= following
    ways = []
    for layers in reached:
        way = [met]
        for layer in reversed(layers[:-1]):
            way.append(layer & links.near(way[-1]))
        ways.append(way)
    return [*reversed(ways[0]), *ways[1][1:]]


class _LocalLinks:
    """The links around memories. After some reads, all links are read at once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._near: dict[int, set[int]] = {}
        self._reads = 0

    def near(self, keys: Collection[int]) -> set[int]:
        """The memories at the other end of the links of some memories."""
        missing = {*keys} - self._near.keys()
        if missing and self._reads <= READS:
            self._reads = READS + 1 if len(missing) > MANY else self._reads + 1
            whole = self._reads > READS
            for link in self._index.edges() if whole else links_at(self._index, missing):
                for own, other in (link[:2], (link.target, link.source)):
                    if whole or own in missing:
                        self._near.setdefault(own, set()).add(other)
        return set().union(*(self._near.get(key, ()) for key in keys))


def _stated_first(links: Iterable[Edge], memories: Mapping[int, IndexedMemory]) -> list[Edge]:
    """Links by place, those in the front matter first."""
    return sorted(
        links, key=lambda link: (link.field is None, memories[link.source].address, link.line)
    )
