"""Personalised PageRank over the links of a network, both ways."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from djinn_memory.graph.network import Floats, Network

DAMPING = 0.5
"""The share of a walk that follows an edge. The rest returns to the seeds: answers are a step or
two from them (Gutiérrez et al. 2024, HippoRAG, use the same)."""

ENOUGH = 1e-6
"""The largest change of a rank after which the walk ends."""


def personalised_pagerank(
    network: Network,
    seeds: Mapping[int, float],
    *,
    damping: float = DAMPING,
    steps: int | None = None,
) -> Floats:
    """The share of a random walk from the seeds that is at each node; the shares sum to 1.

    `seeds` are weights by node. At a node the walk takes an edge at random, by weight, whichever
    way it leads (Page et al. 1999; Haveliwala 2002). Without seeds every share is 0.
    With `steps` the walk takes at most so many edges from a seed.
    """
    restart = np.zeros(len(network))
    for node, weight in seeds.items():
        restart[node] += weight
    if not restart.sum():
        return restart
    restart /= restart.sum()
    ends = np.concatenate([network.sources, network.targets])
    others = np.concatenate([network.targets, network.sources])
    weights = np.concatenate([network.weights, network.weights])
    out = np.bincount(ends, weights, len(network))
    shares = weights / np.where(out, out, 1)[ends]
    ranks = restart
    taken = 0
    while taken != steps:
        taken += 1
        moved = np.bincount(others, ranks[ends] * shares, len(network))
        # A walk at a node without edges returns to the seeds.
        moved = moved + restart * ranks[out == 0].sum()
        following: Floats = (1 - damping) * restart + damping * moved
        settled = np.abs(following - ranks).max() < ENOUGH
        ranks = following
        if settled:
            break
    return ranks
