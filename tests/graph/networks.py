"""Networks from edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from djinn_memory.graph.network import Network


def network_from(keys: Collection[int], edges: Iterable[tuple[int, int]]) -> Network:
    """A network of nodes with these keys, without edges to others.

    An edge is a pair of keys. Each weighs 1.
    """
    known = np.unique(np.fromiter(keys, np.int64, len(keys)))
    pairs = np.array([*edges], np.int64).reshape(-1, 2)
    ends = np.searchsorted(known, pairs[np.isin(pairs, known).all(axis=1)])
    return Network(known, ends[:, 0], ends[:, 1], np.ones(len(ends)))
