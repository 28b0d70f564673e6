"""Networks: distances, paths, islands and parts, against the plainest way to compute them."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.graph.network import Network
from tests.examples import examples
from tests.graph.networks import network_from

GRAPHS = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(*[st.integers(0, size - 1)] * 2), max_size=24),
    )
)
"""The number of nodes, and edges."""

Graph = tuple[int, list[tuple[int, int]]]


def network_of(graph: Graph) -> Network:
    size, edges = graph
    return network_from(range(size), edges)


def reachable(graph: Graph, *starts: int) -> dict[int, int]:
    """The distances from the nearest start."""
    size, edges = graph
    near: dict[int, set[int]] = {node: set() for node in range(size)}
    for source, target in edges:
        near[source].add(target)
        near[target].add(source)
    known = dict.fromkeys(starts, 0)
    waiting = deque(starts)
    while waiting:
        node = waiting.popleft()
        for other in near[node] - known.keys():
            known[other] = known[node] + 1
            waiting.append(other)
    return known


@settings(max_examples=examples(200))
@given(graph=GRAPHS, data=st.data())
def test_distances_are_those_of_a_search(graph: Graph, data: st.DataObject) -> None:
    nodes = st.integers(0, graph[0] - 1)
    starts, most = data.draw(st.lists(nodes, min_size=1, max_size=3)), data.draw(st.integers(0, 4))
    known = reachable(graph, *starts)
    distances = network_of(graph).distances(starts)
    assert distances.tolist() == [known.get(node, -1) for node in range(graph[0])]
    near = network_of(graph).distances(starts, most)
    assert near.tolist() == [each if each <= most else -1 for each in distances.tolist()]


@settings(max_examples=examples(200))
@given(graph=GRAPHS, data=st.data())
def test_a_path_follows_edges_and_is_the_shortest(graph: Graph, data: st.DataObject) -> None:
    start, end = (data.draw(st.integers(0, graph[0] - 1)) for _ in range(2))
    path = network_of(graph).path(start, end)
    known = reachable(graph, start)
    if end not in known:
        assert path == []
        return
    assert (path[0], path[-1], len(path) - 1) == (start, end, known[end])
    edges = {*graph[1]}
    assert all({step, step[::-1]} & edges for step in pairwise(path))


@settings(max_examples=examples(200))
@given(graph=GRAPHS)
def test_islands_are_what_is_reachable_the_largest_first(graph: Graph) -> None:
    islands = network_of(graph).islands().tolist()
    for node in range(graph[0]):
        own = {other for other in range(graph[0]) if islands[other] == islands[node]}
        assert own == reachable(graph, node).keys()
    sizes = np.bincount(islands).tolist()
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=examples(200))
@given(graph=GRAPHS, data=st.data())
def test_a_part_has_the_edges_between_its_nodes(graph: Graph, data: st.DataObject) -> None:
    size, edges = graph
    nodes = data.draw(st.sets(st.integers(0, size - 1)))
    part = network_of(graph).part(nodes)
    kept = [
        (int(part.keys[a]), int(part.keys[b]))
        for a, b in zip(part.sources, part.targets, strict=True)
    ]
    assert kept == [edge for edge in edges if {*edge} <= nodes]


def test_nodes_have_keys_and_edges_to_others_are_left_out() -> None:
    network = network_from([30, 10], [(10, 30), (10, 99), (30, 30)])
    assert (network.node(10), network.node(30)) == (0, 1)
    assert network.degrees.tolist() == [1, 3]
    assert network.weights.tolist() == [1.0, 1.0]
    with pytest.raises(KeyError):
        network.node(20)


def test_a_network_without_nodes_answers() -> None:
    empty = network_from([], [])
    assert len(empty) == 0
    assert empty.islands().tolist() == []
    assert empty.distances([]).tolist() == []
    assert empty.degrees.tolist() == []
