"""Operations on the graph of links: memories as nodes, links as edges."""

from __future__ import annotations

from djinn_memory.memories.catalog.catalog import find
from djinn_memory.memories.graph import requests
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.store.index.records import Selection


class Graph(Namespace, name="graph"):
    """The graph of links of a home, within the vaults that an agent sees."""

    @operation(requests.ShowNeighbours, positional=("name",))
    def neighbours(self, request: requests.ShowNeighbours) -> requests.NeighbourList:
        """Show the memories around a memory, the nearest first, with the links between them."""
        from djinn_memory.memories.graph.neighbours import neighbours

        with self.runtime.index(self._scope(request.agent)) as index:
            memory = find(index, request.name)
            return neighbours(index, memory, request.hops, request.relation, request.limit)

    @operation(requests.FindPath, positional=("name", "to"))
    def path(self, request: requests.FindPath) -> requests.GraphPath:
        """Find a shortest path between two memories. It is empty if there is none."""
        from djinn_memory.memories.graph.neighbours import path

        with self.runtime.index(self._scope(request.agent)) as index:
            return path(index, find(index, request.name), find(index, request.to))

    @operation(requests.ListCommunities)
    def communities(self, request: requests.ListCommunities) -> requests.CommunityList:
        """List communities of at least three memories, the largest first, with a summary each."""
        from djinn_memory.memories.graph.communities import list_communities

        with self.runtime.index(self._scope(request.agent)) as index:
            return list_communities(index, request.limit)

    @operation(requests.CountGraph)
    def stats(self, request: requests.CountGraph) -> requests.GraphCounts:
        """Count the graph: hubs, orphans, islands, and the density of each vault."""
        from djinn_memory.memories.graph.counts import counts

        with self.runtime.index(self._scope(request.agent)) as index:
            return counts(index, request.limit)

    @operation(requests.ExportGraph)
    def export(self, request: requests.ExportGraph) -> requests.GraphExport:
        """Export memories and the links between them as text in a format of other programs."""
        from djinn_memory.memories.graph.export import export

        filters = request.filters(self.runtime.now())
        with self.runtime.index(self._scope(request.agent, filters)) as index:
            return export(index, Selection(filters), request.format)

    @operation(requests.ViewGraph, positional=("name",))
    def view(self, request: requests.ViewGraph) -> requests.GraphView:
        """Look at the graph, or at the memories around one: nodes, edges and their places."""
        from djinn_memory.memories.graph.view import view

        filters = request.filters(self.runtime.now())
        with self.runtime.index(self._scope(request.agent, filters)) as index:
            return view(self.runtime, index, Selection(filters), request)
