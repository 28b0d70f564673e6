"""Requests and answers about the graph of links. The module is cheap to import for front ends."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MemoryName
from djinn_memory.models import Memory, MemoryRef, Problem
from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, Narrowing
from djinn_memory.search.query import MOST_HOPS

Hops = Annotated[int, Meta(ge=1, le=MOST_HOPS, description="The number of links to follow.")]
Direction = Literal["out", "in"]
GraphFormat = Literal["graphml", "json", "dot", "mermaid", "canvas"]


class ShowNeighbours(Struct, frozen=True):
    """Show the memories around a memory: those that it links to, and those that link to it."""

    name: MemoryName
    hops: Hops = 1
    relation: Annotated[
        Annotated[RawText, Meta(min_length=1, max_length=200)] | None,
        Meta(
            description="Follow only links of this type: `references` for plain links, or a field "
            "such as depends_on."
        ),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The maximum number of memories.")] = 50
    agent: AgentName = None


class FindPath(Struct, frozen=True):
    """Find a shortest path of links between two memories, whichever way the links lead."""

    name: MemoryName
    to: Annotated[
        RawText, Meta(min_length=1, max_length=1000, description="The memory at the other end.")
    ]
    agent: AgentName = None


class ListCommunities(Struct, frozen=True):
    """List communities: memories with more links among each other than to others."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of communities.")] = (
        20
    )
    agent: AgentName = None


class CountGraph(Struct, frozen=True):
    """Count the graph of links: hubs, orphans, islands, and the density of each vault."""

    limit: Annotated[
        int, Meta(ge=1, le=1000, description="The maximum number of hubs, orphans and islands.")
    ] = 10
    agent: AgentName = None


class ExportGraph(Narrowing, frozen=True):
    """Export memories and the links between them for other programs."""

    format: Annotated[GraphFormat, Meta(description="The format of the text.")]


class ViewGraph(Narrowing, frozen=True):
    """Look at memories and the links between them: with places in 3D and 2D for a picture."""

    name: Annotated[
        Annotated[RawText, Meta(min_length=1, max_length=1000)] | None,
        Meta(description="Only the memories around this one. Default: all."),
    ] = None
    hops: Annotated[
        int, Meta(ge=1, le=MOST_HOPS, description="With a memory: the number of links to follow.")
    ] = 2
    texts: Annotated[bool, Meta(description="Include the texts of the memories.")] = False


class GraphEdge(Struct, frozen=True, kw_only=True):
    """A link between two memories."""

    source: str
    """The memory that contains the link, as `vault:path`."""
    target: str
    """The memory that it leads to."""
    type: str
    """The field of the front matter, or the property of an entity; `references` for a link in the
    text."""
    weight: float = 1.0
    """Its weight among other links."""
    confidence: float = 1.0
    """The confidence from 0 to 1, as an entity states it; 1 for other links."""
    direction: Direction = "out"
    """`out` if it leads away from the memory that was named, `in` if it leads towards it."""
    text: str
    """The text of the link as a reader sees it."""


class Neighbour(Memory, frozen=True, kw_only=True):
    """A memory near the one that was named."""

    distance: int
    """The number of links between the two."""
    edges: tuple[GraphEdge, ...]
    """The links to memories that are one link nearer."""


class NeighbourList(Struct, frozen=True):
    """The memories around a memory."""

    memory: Memory
    """The memory that was named."""
    neighbours: tuple[Neighbour, ...]
    """The memories around it, the nearest first."""
    total: int
    """The number of memories within the hops."""


class GraphPath(Struct, frozen=True):
    """A shortest path of links between two memories."""

    memories: tuple[Memory, ...]
    """The memories on the path with both ends; empty if there is no path."""
    edges: tuple[GraphEdge, ...]
    """The link of each step."""


class CentralSentence(MemoryRef, frozen=True, kw_only=True):
    """A sentence of a community's summary, and the memory that it is from."""

    text: str
    """The sentence."""
    title: str
    """The title of the memory."""


class Community(Struct, frozen=True, kw_only=True):
    """Memories with more links among each other than to others."""

    number: int
    """Its number, from 1; the largest community is first."""
    size: int
    """The number of its memories."""
    links: int
    """The number of links among them."""
    tags: tuple[str, ...]
    """The tags that tell it from other memories, the most telling first."""
    central: tuple[Memory, ...]
    """Its most central memories, the most central first."""
    summary: tuple[CentralSentence, ...]
    """Its most central sentences."""

    @property
    def sentences(self) -> list[str]:
        """The texts of the summary."""
        return [sentence.text for sentence in self.summary]


class CommunityList(Struct, frozen=True):
    """The communities of a graph."""

    communities: tuple[Community, ...]
    """The communities, the largest first."""
    total: int
    """The number of communities."""
    outside: int
    """The number of memories that belong to none."""


class Hub(Memory, frozen=True, kw_only=True):
    """A memory with many links."""

    incoming: int
    """The number of links to it."""
    outgoing: int
    """The number of links from it."""


class Island(Struct, frozen=True, kw_only=True):
    """Memories that are linked with each other, directly or not, and with no others."""

    size: int
    """The number of its memories."""
    hub: Memory
    """Its memory with the most links."""


class VaultDensity(Struct, frozen=True, kw_only=True):
    """The links of a vault."""

    vault: str
    """The name of the vault."""
    memories: int
    """The number of its memories."""
    links: int
    """The number of links between two of them."""
    outside: int
    """The number of links from or to memories of other vaults."""
    orphans: int
    """The number of its memories without links."""
    density: float
    """The share of the possible links that exist: distinct links / (memories * (memories - 1))."""


class GraphCounts(Struct, frozen=True):
    """The numbers of a graph of links."""

    memories: int
    """The number of memories."""
    links: int
    """The number of links between two different memories."""
    hubs: tuple[Hub, ...]
    """The memories with the most links."""
    orphans: int
    """The number of memories without links."""
    orphan_list: tuple[Memory, ...]
    """Orphans, the newest first."""
    islands: int
    """The number of islands of at least two memories."""
    island_list: tuple[Island, ...]
    """Islands, the largest first."""
    vaults: tuple[VaultDensity, ...]
    """The links of each vault."""


class GraphExport(Struct, frozen=True):
    """The result of an export."""

    format: GraphFormat
    """The format."""
    memories: int
    """The number of memories."""
    links: int
    """The number of links between them."""
    text: str
    """The text of the export."""


class GraphNode(Memory, frozen=True, kw_only=True):
    """A memory in a view of the graph."""

    agent: str | None
    """The agent whose memory it is; null for everybody's."""
    degree: int
    """The number of its links, whichever way they lead, before the view was narrowed."""
    community: int | None
    """The number of its community, from 1, the largest first; null if it is in none."""
    spot: tuple[float, float, float]
    """Where it stands in 3D. All are within 1 of the middle."""
    flat: tuple[float, float]
    """Where it stands in 2D."""
    text: str = ""
    """Its text without front matter, if texts were requested."""
    cut: bool = False
    """Whether the text, or its end, was left out."""


class GraphView(Struct, frozen=True):
    """Memories and the links between them, with their places in a picture."""

    note: str | None
    """The memory that was named, as `vault:path`; null for a view of all."""
    nodes: tuple[GraphNode, ...]
    """The memories. Of more than 10,000 they are those with the most links."""
    edges: tuple[GraphEdge, ...]
    """The links between them. Of more than 40,000 those of hubs are left out first."""
    total: int
    """The number of memories before any was left out."""
    total_links: int
    """The number of links between the nodes before any was left out."""
    problems: tuple[Problem, ...] = ()
    """Memories whose text cannot be read."""
