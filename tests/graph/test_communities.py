"""Communities: deterministic, connected, and those that are obvious."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from djinn_memory.graph.communities import LEAST, communities
from tests.examples import examples
from tests.graph.networks import network_from
from tests.graph.test_network import GRAPHS, Graph, network_of

CLIQUES = [
    (base + a, base + b) for base in (0, 5, 9) for a in range(4) for b in range(a + 1, 4)
]  # fmt: skip
"""Three groups of four, of which the first has a fifth member."""


def test_groups_that_few_edges_join_are_communities() -> None:
    edges = [*CLIQUES, (4, 0), (4, 1), (3, 5), (8, 9)]
    network = network_from(range(15), edges)
    listed = [nodes.tolist() for nodes in communities(network)]
    assert listed == [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], "13 and 14 have no edges"


def test_a_pair_and_a_network_without_edges_have_no_community() -> None:
    assert communities(network_from(range(3), [(0, 1), (1, 0), (2, 2)])) == []
    assert communities(network_from([], [])) == []


@settings(max_examples=examples(200))
@given(graph=GRAPHS)
def test_communities_are_connected_parts_in_one_order(graph: Graph) -> None:
    network = network_of(graph)
    listed = communities(network)
    assert [each.tolist() for each in listed] == [each.tolist() for each in communities(network)]
    nodes = np.concatenate([*listed, np.array([], np.int64)])
    assert len({*nodes.tolist()}) == len(nodes)
    for community in listed:
        assert len(community) >= LEAST
        assert not network.part(community.tolist()).islands().any()
