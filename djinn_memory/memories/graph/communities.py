"""Communities of the graph of links, each with a summary in words of its notes."""

from __future__ import annotations

from djinn_memory.memories.graph.requests import CommunityList
from djinn_memory.search.backend import Index


def list_communities(index: Index, most: int) -> CommunityList:
    """At most this many communities, the largest first."""
    return CommunityList((), 0, 0)
