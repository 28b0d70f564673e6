from __future__ import annotations

import numpy as np
import pytest

from djinn_memory.graph.layout import Places, layout
from djinn_memory.graph.network import Network
from tests.graph.networks import network_from


def cliques(count: int, size: int, alone: int = 0) -> Network:
    """Groups in which all are linked, the groups in a ring, and nodes without links."""
    starts = range(0, count * size, size)
    edges = [(s + a, s + b) for s in starts for a in range(size) for b in range(a)]
    edges += [(s, (s + size) % (count * size)) for s in starts]
    return network_from(range(count * size + alone), edges)


def distances(network: Network, places: Places) -> tuple[float, float]:
    """The usual distance of linked nodes, and of all nodes."""
    linked = np.linalg.norm(places[network.sources] - places[network.targets], axis=1)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    return float(np.median(linked)), float(np.median(apart))


@pytest.mark.parametrize("dimensions", [2, 3])
def test_what_is_linked_stands_together(dimensions: int) -> None:
    network = cliques(6, 8)
    linked, all_nodes = distances(network, layout(network, dimensions))
    assert linked * 3 < all_nodes


def test_the_same_links_give_the_same_places() -> None:
    network = cliques(3, 5, alone=4)
    assert np.array_equal(layout(network, 3), layout(network, 3))


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize(
    "network",
    [
        network_from([], []),
        network_from([7], []),
        network_from([1, 2], [(1, 2)]),
        network_from(range(40), []),
        network_from(range(3), [(0, 1), (1, 0), (1, 1)]),
        cliques(2, 3, alone=30),
    ],
    ids=["empty", "one", "pair", "alone", "loop", "mostly alone"],
)
def test_every_node_has_a_place_of_its_own_near_the_middle(
    network: Network, dimensions: int
) -> None:
    places = layout(network, dimensions)
    assert places.shape == (len(network), dimensions)
    assert np.isfinite(places).all()
    assert (np.linalg.norm(places, axis=1) <= 1.0001).all()
    assert len(np.unique(places.round(5), axis=0)) == len(network)


def test_nodes_without_links_stand_around_the_others() -> None:
    network = cliques(4, 5, alone=10)
    far = np.linalg.norm(layout(network, 3), axis=1)
    assert far[-10:].min() > np.quantile(far[:-10], 0.9)


def test_a_plane_keeps_the_shape_of_the_space() -> None:
    network = cliques(5, 6)
    space = layout(network, 3)
    plane = layout(network, 2, start=space)
    centres = [places.reshape(5, 6, -1).mean(axis=1) for places in (space[:, :2], plane)]
    shifts = np.linalg.norm(centres[0] - centres[1], axis=1)
    assert shifts.mean() < np.linalg.norm(centres[1], axis=1).mean()
