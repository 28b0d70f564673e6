"""Communities by Leiden: nodes with more edges among each other than to others."""

from __future__ import annotations

import numpy as np

from djinn_memory.graph.network import Floats, Ints, Network

LEAST = 3
"""Minimum nodes of a community. Two that are linked say no more than their link."""

SEED = 17
"""Any number: with the same one, the same network has the same communities."""


def communities(network: Network) -> list[Ints]:
    """The nodes of each community of at least `LEAST` nodes, the largest first.

    They are a partition of high modularity, over edges both ways (Traag, Waltman and van Eck 2019).
    Each is connected. Nodes in none have fewer neighbours than that.
    """
    low, high, weights = _undirected(network)
    if not len(low):
        return []
    # Imported here: it is needed for this alone.
    from graspologic_native import leiden

    names = [str(node) for node in range(len(network))]
    edges = [
        (names[a], names[b], weight)
        for a, b, weight in zip(low.tolist(), high.tolist(), weights.tolist(), strict=True)
    ]
    _, community_of = leiden(edges, None, 1.0, 0.001, 1, use_modularity=True, seed=SEED, trials=1)
    members: dict[int, list[int]] = {}
    for node in sorted(map(int, community_of)):
        members.setdefault(community_of[names[node]], []).append(node)
    large = [nodes for nodes in members.values() if len(nodes) >= LEAST]
    return [np.array(nodes) for nodes in sorted(large, key=lambda nodes: (-len(nodes), nodes))]


def _undirected(network: Network) -> tuple[Ints, Ints, Floats]:
    """The ends of each pair of linked nodes, and the weight of its edges together."""
    low = np.minimum(network.sources, network.targets)
    high = np.maximum(network.sources, network.targets)
    pairs, number = np.unique(low * len(network) + high, return_inverse=True)
    weights = np.bincount(number, network.weights, len(pairs))
    low, high = np.divmod(pairs, max(1, len(network)))
    apart = low != high
    return low[apart], high[apart], weights[apart]
