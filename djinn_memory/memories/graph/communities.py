"""Communities of the graph of links, each with a summary in words of its notes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from djinn_memory.graph.communities import communities
from djinn_memory.graph.network import Ints
from djinn_memory.graph.pagerank import personalised_pagerank
from djinn_memory.memories.graph.link_graph import LinkGraph, read_graph
from djinn_memory.memories.graph.requests import CentralSentence, Community, CommunityList
from djinn_memory.memories.graph.summaries import central_sentences
from djinn_memory.models import Memory, extended
from djinn_memory.search.backend import Index

CENTRAL = 5
"""Memories that describe a community."""

READ, CHUNKS = 15, 4
"""Most central memories whose sentences are read, and how many chunks of each. The beginning of a
note says what it is about."""

TAGS = 3
"""Maximum tags of a community."""


def list_communities(index: Index, most: int) -> CommunityList:
    """At most this many communities, the largest first."""
    graph = read_graph(index, texts=False)
    every = communities(graph.network)
    described = []
    for number, nodes in enumerate(every[:most], 1):
        part = graph.network.part(nodes)
        ranks = personalised_pagerank(part, dict.fromkeys(range(len(nodes)), 1.0))
        by_node = dict(zip(nodes.tolist(), ranks.tolist(), strict=True))
        described.append(describe(index, graph, number, nodes, by_node))
    outside = len(graph.memories) - sum(map(len, every))
    return CommunityList(tuple(described), len(every), outside)


def describe(
    index: Index,
    graph: LinkGraph,
    number: int,
    nodes: Ints,
    ranks: Mapping[int, float],
    asked: str = "",
) -> Community:
    """A community with its tags, and the memories and sentences that are central by `ranks`.

    `ranks` are those of some of its nodes, `asked` is a question that sentences should answer.
    """
    best = [graph.memories[node] for node in sorted(ranks, key=lambda node: (-ranks[node], node))]
    known = {memory.memory_id: memory for memory in best[:READ]}
    chunks = index.chunks_of([*known], CHUNKS)
    read = {key: chunks.get(key, []) for key in known}
    by_memory = {graph.memories[node].memory_id: rank for node, rank in ranks.items()}
    return Community(
        number=number,
        size=len(nodes),
        links=len(graph.network.part(nodes).sources),
        tags=_tags(graph, [graph.memories[node] for node in nodes.tolist()]),
        central=tuple(extended(memory, Memory) for memory in best[:CENTRAL]),
        summary=tuple(
            extended(known[key], CentralSentence, text=text)
            for key, text in central_sentences(index.words, read, by_memory, asked)
        ),
    )


def _tags(graph: LinkGraph, members: Sequence[Memory]) -> tuple[str, ...]:
    """Tags of several members, those first that others have least."""
    every = Counter(tag for memory in graph.memories for tag in memory.tags)
    own = Counter(tag for memory in members for tag in memory.tags)
    rarity = {tag: math.log(len(graph.memories) / every[tag]) for tag in own if own[tag] > 1}
    ordered = sorted(rarity, key=lambda tag: (-own[tag] * rarity[tag], tag))
    return tuple(tag for tag in ordered if rarity[tag])[:TAGS]
