"""Networks: memories as nodes, and the links between them as edges, in numpy arrays.

Nodes are numbered from 0 in the order of their keys, which are the numbers of memories in an index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Network:
    """A directed graph with weights. Two nodes may have several edges."""

    def __init__(self, keys: Ints, sources: Ints, targets: Ints, weights: Floats) -> None:
        """`keys` are sorted. `sources` and `targets` are positions in them, one for each edge."""
        self.keys = keys
        self.sources = sources
        self.targets = targets
        self.weights = weights

    def __len__(self) -> int:
        return len(self.keys)

    def node(self, key: int) -> int:
        """The number of the node with a key. Raises `KeyError` for a key that it lacks."""
        number = int(np.searchsorted(self.keys, key))
        if number == len(self) or self.keys[number] != key:
            raise KeyError(key)
        return number

    @cached_property
    def degrees(self) -> Ints:
        """The number of edges at each node, whichever way they lead."""
        ends = np.concatenate([self.sources, self.targets])
        return np.bincount(ends, minlength=len(self)).astype(np.int64)

    @cached_property
    def both_ways(self) -> tuple[Ints, Ints, Floats]:
        """The edges at each node whichever way they lead: starts, nodes at the other end, weights.

        Those of node `n` are at `starts[n]` to `starts[n + 1]`, in order of the nodes.
        """
        ends = np.concatenate([self.sources, self.targets])
        others = np.concatenate([self.targets, self.sources])
        order = np.lexsort((others, ends))
        starts = np.concatenate([[0], np.cumsum(self.degrees)])
        return starts, others[order], np.concatenate([self.weights, self.weights])[order]

    def neighbours(self, nodes: Ints | Sequence[int]) -> Ints:
        """The distinct nodes at the other end of the edges at some nodes."""
        starts, others, _ = self.both_ways
        if not len(nodes):
            return others[:0]
        return np.unique(np.concatenate([others[starts[n] : starts[n + 1]] for n in nodes]))

    def distances(self, starts: int | Sequence[int], most: int | None = None) -> Ints:
        """The number of edges from the nearest of the `starts` to each node, whichever way they
        lead.

        It is -1 for a node that is out of reach, or farther than `most`.
        """
        distances = np.full(len(self), -1, np.int64)
        reached, distance = np.atleast_1d(np.array(starts, np.int64)), 0
        distances[reached] = 0
        while len(reached) and distance != most:
            distance += 1
            near = self.neighbours(reached)
            reached = near[distances[near] < 0]
            distances[reached] = distance
        return distances

    def path(self, starts: int | Sequence[int], end: int, most: int | None = None) -> list[int]:
        """The nodes of a shortest path to `end` from the nearest of the `starts`.

        There are none if each path has more than `most` edges. Of several starts it is the first,
        and of several paths the one whose nodes come first.
        """
        distances = self.distances(end, most)
        near_starts = [n for n in np.atleast_1d(starts).tolist() if distances[n] >= 0]
        if not near_starts:
            return []
        path = [min(near_starts, key=lambda n: int(distances[n]))]
        while path[-1] != end:
            near = self.neighbours(path[-1:])
            path.append(int(near[distances[near] == distances[path[-1]] - 1][0]))
        return path

    def islands(self) -> Ints:
        """The number of the connected part of each node, the largest part first, from 0."""
        part = np.arange(len(self))
        while True:
            lowest = part.copy()
            np.minimum.at(lowest, self.sources, part[self.targets])
            np.minimum.at(lowest, self.targets, part[self.sources])
            # Half of the way to the root of each part at once.
            lowest = np.minimum(lowest, lowest[lowest])
            if np.array_equal(lowest, part):
                break
            part = lowest
        _, numbers, sizes = np.unique(part, return_inverse=True, return_counts=True)
        places = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        return places[numbers].astype(np.int64)

    def part(self, nodes: Collection[int]) -> Network:
        """The network of some nodes and the edges between them."""
        keys = self.keys[np.array(sorted(nodes), np.int64)]
        kept = np.zeros(len(self), bool)
        kept[np.array([*nodes], np.int64)] = True
        inside = kept[self.sources] & kept[self.targets]
        numbers = np.cumsum(kept) - 1
        return Network(
            keys, numbers[self.sources[inside]], numbers[self.targets[inside]], self.weights[inside]
        )
