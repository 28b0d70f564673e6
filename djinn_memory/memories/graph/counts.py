"""The numbers of the graph of links: hubs, orphans, islands, and the density of vaults."""

from __future__ import annotations

import numpy as np

from djinn_memory.memories.graph.link_graph import read_graph
from djinn_memory.memories.graph.requests import GraphCounts, Hub, Island, VaultDensity
from djinn_memory.models import Memory, extended
from djinn_memory.search.backend import Index


def counts(index: Index, most: int) -> GraphCounts:
    """Count the graph; list at most this many hubs, orphans and islands."""
    graph = read_graph(index, texts=False)
    network, memories = graph.network, graph.memories
    pairs = np.unique(np.stack([network.sources, network.targets], axis=1), axis=0)
    outgoing, incoming = (np.bincount(ends, minlength=len(network)) for ends in pairs.T)
    degrees = outgoing + incoming
    best = np.argsort(-degrees, kind="stable")
    orphans = sorted(
        (memories[node] for node in np.flatnonzero(degrees == 0).tolist()),
        key=lambda memory: memory.date,
        reverse=True,
    )
    islands = network.islands()
    sizes = np.bincount(islands) if len(islands) else islands
    several = int((sizes > 1).sum())
    vault_of = np.array([memory.vault for memory in memories])
    return GraphCounts(
        memories=len(memories),
        links=len(pairs),
        hubs=tuple(
            extended(
                memories[node], Hub, incoming=int(incoming[node]), outgoing=int(outgoing[node])
            )
            for node in best[:most]
            if degrees[node]
        ),
        orphans=len(orphans),
        orphan_list=tuple(extended(memory, Memory) for memory in orphans[:most]),
        islands=several,
        island_list=tuple(
            Island(
                size=int(sizes[island]),
                hub=extended(memories[best[islands[best] == island][0]], Memory),
            )
            for island in range(min(most, several))
        ),
        vaults=tuple(
            _density(vault.name, vault_of == vault.name, pairs, degrees) for vault in index.vaults
        ),
    )


def _density(name: str, own: np.ndarray, pairs: np.ndarray, degrees: np.ndarray) -> VaultDensity:
    inside = own[pairs].sum(axis=1)
    size, links = int(own.sum()), int((inside == 2).sum())
    return VaultDensity(
        vault=name,
        memories=size,
        links=links,
        outside=int((inside == 1).sum()),
        orphans=int((own & (degrees == 0)).sum()),
        density=links / (size * (size - 1)) if size > 1 else 0.0,
    )
