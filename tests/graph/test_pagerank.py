"""Personalised PageRank, against the solution of its linear equations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.graph.network import Network
from djinn_memory.graph.pagerank import personalised_pagerank
from tests.examples import examples
from tests.graph.networks import network_from
from tests.graph.test_network import GRAPHS, Graph


def dense(network: Network, seeds: dict[int, float], damping: float) -> list[float]:
    """The ranks that solve r = (1 - d) s + d P r, where a walk without an edge returns to s."""
    size = len(network)
    walk = np.zeros((size, size))
    for a, b, weight in zip(network.sources, network.targets, network.weights, strict=True):
        walk[b, a] += weight
        walk[a, b] += weight
    restart = np.zeros(size)
    for node, weight in seeds.items():
        restart[node] = weight / sum(seeds.values())
    sums = walk.sum(axis=0)
    for node in range(size):
        walk[:, node] = walk[:, node] / sums[node] if sums[node] else restart
    ranks = np.linalg.solve(np.eye(size) - damping * walk, (1 - damping) * restart)
    return list(ranks)


@settings(max_examples=examples(200))
@given(
    graph=GRAPHS,
    data=st.data(),
    damping=st.sampled_from([0.0, 0.5, 0.85]),
)
def test_ranks_sum_to_one_and_solve_the_equations(
    graph: Graph, data: st.DataObject, damping: float
) -> None:
    size, edges = graph
    weights = [data.draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in edges]
    plain = network_from(range(size), edges)
    network = Network(plain.keys, plain.sources, plain.targets, np.array(weights, float))
    nodes = st.integers(0, size - 1)
    seeds = data.draw(st.dictionaries(nodes, st.sampled_from([0.2, 1.0, 4.0]), min_size=1))
    ranks = personalised_pagerank(network, seeds, damping=damping)
    assert ranks.sum() == pytest.approx(1)
    assert list(ranks) == pytest.approx(dense(network, seeds, damping), abs=1e-4)


def test_without_seeds_nothing_has_a_rank() -> None:
    assert personalised_pagerank(network_from([1, 2], [(1, 2)]), {}).tolist() == [0, 0]
    assert personalised_pagerank(network_from([], []), {}).tolist() == []
