"""A view of the graph: memories and links with their places in a picture, within bounds.

The places are kept in the state folder. They have numbers only, no words of notes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from djinn_memory.errors import DjinnError
from djinn_memory.graph.communities import communities
from djinn_memory.graph.layout import LAYOUT, Places, layout
from djinn_memory.graph.network import Ints, Network
from djinn_memory.memories.catalog.catalog import find, text_for_people
from djinn_memory.memories.graph.edges import EdgeReader
from djinn_memory.memories.graph.link_graph import LinkGraph, read_graph
from djinn_memory.memories.graph.requests import GraphNode, GraphView, ViewGraph
from djinn_memory.models import Problem, Vault, extended
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.system.files import make_folder, write_atomic

MOST_NODES = 10_000
"""Maximum memories of a view. A browser without a graphics card still draws them."""

MOST_LINKS = 40_000
"""Maximum links of a view."""

LONGEST_TEXT = 20_000
"""Maximum characters of the text of a memory."""

MOST_TEXT = 8_000_000
"""Maximum characters of all texts: a page of 10 MB opens in a second."""


def view(runtime: Runtime, index: Index, selection: Selection, request: ViewGraph) -> GraphView:
    """The memories of a selection, or those around the one that is named."""
    named = find(index, request.name) if request.name else None
    graph = read_graph(index, selection)
    nodes, chosen = _chosen(graph, named, request.hops)
    picked = _picked(graph, chosen)
    links = [graph.links[number] for number in picked]
    network = graph.network.part(chosen)
    memories = [graph.memories[node] for node in chosen]
    by_id = {memory.memory_id: memory for memory in memories}
    edges = tuple(EdgeReader(index, by_id).edges(links[:MOST_LINKS]))
    texts = _Texts(index.vaults, request.texts)
    drawn = tuple(_nodes(runtime, memories, network, graph.network.degrees[chosen], texts))
    note = named.address if named else None
    return GraphView(note, drawn, edges, nodes, len(links), tuple(texts.problems))


def _chosen(graph: LinkGraph, named: IndexedMemory | None, hops: int) -> tuple[int, Ints]:
    """How many memories the view is about, and those of them with the most links."""
    worth = graph.network.degrees.copy()
    nodes = np.arange(len(worth))
    if named:
        ids = [memory.memory_id for memory in graph.memories]
        nodes = nodes[:0]
        if named.memory_id in ids:
            start = ids.index(named.memory_id)
            nodes = np.flatnonzero(graph.network.distances(start, hops) >= 0)
            worth[start] = len(graph.links) + 1
    return len(nodes), np.sort(nodes[np.argsort(-worth[nodes], kind="stable")[:MOST_NODES]])


def _picked(graph: LinkGraph, chosen: Ints) -> Sequence[int]:
    """The links between the chosen nodes, those between hubs last."""
    network = graph.network
    inside = np.isin(network.sources, chosen) & np.isin(network.targets, chosen)
    degrees = network.degrees
    hubs = np.minimum(degrees[network.sources], degrees[network.targets])
    links = np.flatnonzero(inside)
    return [*map(int, links[np.argsort(hubs[links], kind="stable")])]


def _nodes(
    runtime: Runtime,
    memories: Sequence[IndexedMemory],
    network: Network,
    degrees: Ints,
    texts: _Texts,
) -> Iterator[GraphNode]:
    agents = {vault.name: vault.agent for vault in runtime.home.vaults}
    community = {
        int(node): number for number, nodes in enumerate(communities(network), 1) for node in nodes
    }
    places = _placed(runtime, network).round(4).tolist()
    # The memories with the most links get their texts first.
    for node in np.argsort(-degrees, kind="stable"):
        texts.read(memories[node])
    for node, memory in enumerate(memories):
        text, cut = texts.of(memory)
        x, y, z, across, up = places[node]
        yield extended(
            memory,
            GraphNode,
            agent=agents.get(memory.vault),
            degree=int(degrees[node]),
            community=community.get(node),
            spot=(x, y, z),
            flat=(across, up),
            text=text,
            cut=cut,
        )


class _Texts:
    """The texts of memories, up to a bound."""

    def __init__(self, vaults: Sequence[Vault], wanted: bool) -> None:
        self.problems: list[Problem] = []
        self._vaults = {vault.name: vault for vault in vaults}
        self._left = MOST_TEXT if wanted else 0
        self._texts: dict[int, tuple[str, bool]] = {}

    def read(self, memory: IndexedMemory) -> None:
        """Read the text of a memory, or a part of it, if there is room."""
        most = min(LONGEST_TEXT, self._left)
        if not most:
            return
        try:
            text = text_for_people(self._vaults[memory.vault], memory).strip()
        except (OSError, DjinnError) as error:
            self.problems.append(Problem(memory.address, str(error)))
            return
        self._left -= min(len(text), most)
        self._texts[memory.memory_id] = text[:most], len(text) > most

    def of(self, memory: IndexedMemory) -> tuple[str, bool]:
        """The text of a memory, and whether something of it is left out."""
        return self._texts.get(memory.memory_id, ("", True))


KEPT = 12
"""Layouts that are kept, those used last. One of 10,000 nodes has 200 kB."""


def _placed(runtime: Runtime, network: Network) -> Places:
    """The places of the nodes in 3D, then in 2D: five numbers each."""
    shape = (len(network), 5)
    file = runtime.home.state / "layouts" / f"{_digest(network)}.npy"
    with suppress(OSError, ValueError, EOFError):
        places: Places = np.load(file, allow_pickle=False)
        if places.shape == shape and np.isfinite(places).all():
            file.touch()
            return places
    deep = layout(network, 3)
    places = np.hstack([deep, layout(network, 2, start=deep)]).reshape(shape)
    if not runtime.read_only:
        with suppress(OSError):
            _keep(file, places)
    return places


def _digest(network: Network) -> str:
    parts = (np.array([LAYOUT, len(network)]), network.sources, network.targets, network.weights)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).astype("<f8").tobytes())
    return digest.hexdigest()[:32]


def _keep(file: Path, places: Places) -> None:
    make_folder(file.parent, private=True)
    data = io.BytesIO()
    np.save(data, places, allow_pickle=False)
    write_atomic(file, data.getvalue(), private=True)
    used = sorted(file.parent.glob("*.npy"), key=lambda other: -other.stat().st_mtime)
    for other in used[KEPT:]:
        other.unlink(missing_ok=True)
