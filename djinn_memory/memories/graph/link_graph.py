"""The graph of all links that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
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


def read_graph(index: Index, selection: Selection = ALL, *, texts: bool = True) -> LinkGraph:
    """The memories of a selection, and the links between two of them.

    Without `texts` it has no `links`, which are a third of the memory that a large graph takes.
    """
    memories = sorted(index.memories(selection, fields=()), key=lambda memory: memory.address)
    links = index.edges()
    keys = np.array([memory.memory_id for memory in memories], np.int64)
    ends = np.fromiter((end for link in links for end in link[:2]), np.int64).reshape(-1, 2)
    fields = {
        field: code for code, field in enumerate(sorted({link.field or "" for link in links}))
    }
    codes = np.fromiter((fields[link.field or ""] for link in links), np.int64)
    inside = np.flatnonzero(np.isin(ends, keys).all(axis=1))
    by_key = np.argsort(keys)
    nodes = by_key[np.searchsorted(keys, ends[inside], sorter=by_key)]
    rows = np.column_stack([nodes, codes[inside]])
    edges, first = np.unique(rows, axis=0, return_index=True)
    network = Network(
        np.arange(len(memories)), edges[:, 0], edges[:, 1], np.ones(len(edges), np.float64)
    )
    kept = [links[at] for at in inside[first].tolist()] if texts else []
    return LinkGraph(memories, kept, network)
