"""Layouts: places for the nodes of a network, so that what is linked stands together.

Linked nodes attract each other and all nodes repel each other, as in Noack 2009 (LinLog energies),
which sets communities apart. Each step compares the nodes with a sample of them, so that a step
costs the same whatever the number of nodes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from djinn_memory.graph.network import Ints, Network

Places = npt.NDArray[np.float32]
"""A row of coordinates for each node."""

LAYOUT = 1
"""The version of the algorithm. Kept layouts of another version are not used."""

STEPS = 240
"""Steps after which 5,000 nodes hardly move any more."""

SMOOTHING = 40
"""Rounds of averages that unfold the first places. More change the layout little."""

PAIRS = 400_000
"""Pairs of nodes that a step compares at most: 1.6 MB a matrix, 3 ms."""

FEWEST = 24
"""Nodes of the sample at least, whatever the number of nodes."""

NEAREST = 0.01
"""The square of the distance below which the push does not grow, in lengths of a link."""

SHELL = 1.15
"""How far away nodes without links stand, as a multiple of the distance of `MOST` of the others."""

MOST, OUTSIDE = 0.95, 0.3
"""The share of nodes whose distances are kept as they are, and how much farther others stand."""

REACH = 1.8
"""Where a node without links would come to rest, as a multiple of the mean distance."""

_GOLDEN = math.pi * (3 - math.sqrt(5))


def layout(network: Network, dimensions: int, *, start: Places | None = None) -> Places:
    """Places whose mean is 0 and whose farthest is at a distance of 1. It depends on edges alone.

    `start` are places in as many dimensions or more, of which the first are used. Nodes without
    edges stand around the others.
    """
    places = np.zeros((len(network), dimensions), np.float32)
    linked = np.flatnonzero(network.degrees)
    if len(linked):
        part = network.part(linked) if len(linked) < len(network) else network
        random = np.random.default_rng(len(network))
        first = _unfolded(part, dimensions, random) if start is None else start[linked]
        places[linked] = _within(_moved(part, first[:, :dimensions].copy(), random))
    alone = np.flatnonzero(network.degrees == 0)
    far = np.linalg.norm(places[linked], axis=1)
    places[alone] = _shell(len(alone), dimensions) * (
        SHELL * np.quantile(far, MOST) if len(linked) else 1
    )
    return places


def _within(places: Places) -> Places:
    """Places moved and scaled so that most fill the middle, and those far outside come nearer."""
    places -= np.median(places, axis=0)
    far = np.linalg.norm(places, axis=1, keepdims=True)
    usual = max(float(np.quantile(far, MOST)), 1e-6)
    near = np.where(far > usual, usual * (1 + np.tanh(far / usual - 1) * OUTSIDE), far)
    scaled: Places = places * (near / np.maximum(far, 1e-6)) / (usual * (1 + OUTSIDE))
    return scaled


def _unfolded(network: Network, dimensions: int, random: np.random.Generator) -> Places:
    """The slowest ways in which the network varies, by power iteration (Koren 2005)."""
    places: Places = random.normal(size=(len(network), dimensions)).astype(np.float32)
    degrees = network.degrees.astype(np.float32)[:, None]
    for _ in range(SMOOTHING):
        places += _summed(network, places[network.targets], places[network.sources]) / degrees
        places -= places.mean(axis=0)
        places = np.linalg.qr(places)[0] if len(network) > dimensions else places
    spread = np.abs(places).mean(axis=0) + 1e-9
    places = places / spread + random.normal(size=places.shape) * 0.05
    first: Places = (places * len(network) ** (1 / dimensions)).astype(np.float32)
    return first


def _moved(network: Network, places: Places, random: np.random.Generator) -> Places:
    """Let the forces move the nodes from their first places, ever less."""
    count, dimensions = places.shape
    size = min(count, max(FEWEST, PAIRS // count))
    mass = (1 + network.degrees).astype(np.float32) ** 0.5
    radius = count ** (1 / dimensions)
    for step in range(STEPS):
        chosen = np.arange(count) if size == count else random.choice(count, size, replace=False)
        force = _repulsion(places, mass, chosen) * (count / size)
        force += _attraction(network, places)
        places -= places.mean(axis=0)
        spread = float((places**2).sum(axis=1).mean()) + 1e-6
        force -= places * (mass.sum() / (REACH**2 * spread)) * mass[:, None]
        force /= mass[:, None]
        length = np.linalg.norm(force, axis=1, keepdims=True)
        most = radius * 0.12 * (1 - step / STEPS) ** 1.5 + 0.01
        places += force * np.minimum(1.0, most / np.maximum(length, 1e-6))
    return places


def _repulsion(places: Places, mass: Places, chosen: Ints) -> Places:
    """The push of the chosen nodes: mass over distance."""
    apart = [axis[:, None] - axis[chosen] for axis in places.T]
    near = np.full(apart[0].shape, NEAREST, np.float32)
    for axis in apart:
        near += axis * axis
    np.divide(mass[chosen], near, out=near)
    return np.stack([np.einsum("ij,ij->i", near, axis) for axis in apart], axis=1) * mass[:, None]


def _attraction(network: Network, places: Places) -> Places:
    """The pull of the edges: it grows with the logarithm of their length."""
    apart = places[network.targets] - places[network.sources]
    length = np.linalg.norm(apart, axis=1, keepdims=True) + 1e-6
    pull = apart * (np.log1p(length) / length) * network.weights[:, None] * 2
    return _summed(network, pull, -pull)


def _summed(network: Network, at_source: Places, at_target: Places) -> Places:
    """Values of edges, summed at their ends."""
    count = len(network)
    sums = [
        np.bincount(network.sources, at_source[:, axis], count)
        + np.bincount(network.targets, at_target[:, axis], count)
        for axis in range(at_source.shape[1])
    ]
    return np.stack(sums, axis=1).astype(np.float32)


def _shell(count: int, dimensions: int) -> Places:
    """Points spread evenly on a circle, or on a sphere (Fibonacci's lattice)."""
    number = np.arange(count) + 0.5
    if dimensions == 2:
        angle = number * (2 * math.pi / max(count, 1))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    height = 1 - 2 * number / max(count, 1)
    around, angle = np.sqrt(1 - height**2), number * _GOLDEN
    points = np.stack([around * np.cos(angle), around * np.sin(angle), height], axis=1)
    return points.astype(np.float32)
