"""Communities around the best memories of a recall: what is known of a wide subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.graph.communities import LEAST, communities
from djinn_memory.graph.pagerank import personalised_pagerank
from djinn_memory.memories.graph.communities import describe
from djinn_memory.memories.graph.link_graph import read_graph
from djinn_memory.memories.graph.requests import Community
from djinn_memory.models import Problem, extended
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Selection

SEEDS = 5
"""Maximum number of best memories around which communities are looked for. This number and the
following are those of the pipeline that this one follows."""

COMMUNITIES = 10
"""Maximum number of communities in an answer."""

HOPS = 2
"""Number of links from a seed within which memories of communities are considered."""

MEMORIES = 10
"""Maximum number of memories in an answer."""

BUDGET = 4_000
"""Maximum number of tokens of an answer."""

SHARE = 0.25
"""The part of the budget for summaries. The memories themselves are the evidence."""


NONE_NEAR = Problem(
    "communities",
    f"no {LEAST} linked memories are near the best ones; this is a recall without communities",
)
"""The problem of a wide recall whose seeds are in no community."""


class RecalledCommunity(Community, frozen=True, kw_only=True):
    """A community near the best memories of a recall.

    `central` and `summary` are of its memories near these.
    """

    ranks: tuple[int, ...]
    """The ranks of its memories in the recall."""
    tokens: int
    """The length of its titles and sentences in tokens."""


def communities_near(
    index: Index,
    selection: Selection,
    asked: str,
    recalled: Mapping[str, int],
    seeds: Sequence[str],
    hops: int,
    budget: int,
) -> list[RecalledCommunity]:
    """The communities with at least `LEAST` memories within some hops of the seeds, nearest first.

    One of them was recalled; `recalled` are the ranks by address. The first `SEEDS` of the seeds,
    addresses, best first, are taken. The nearest community is where a random walk from the seeds is
    most likely. Communities that exceed their share of the `budget` are left out.
    """
    graph = read_graph(index, selection, texts=False)
    node_of = {memory.address: node for node, memory in enumerate(graph.memories)}
    starts = [node_of[address] for address in seeds[:SEEDS] if address in node_of]
    near = graph.network.distances(starts, hops) >= 0
    ranks = personalised_pagerank(graph.network, dict.fromkeys(starts, 1.0))
    listed = []
    for number, nodes in enumerate(communities(graph.network), 1):
        members = nodes[near[nodes]]
        addresses = {graph.memories[node].address for node in members.tolist()}
        own = tuple(rank for address, rank in recalled.items() if address in addresses)
        if own and len(members) >= LEAST:
            listed.append((-ranks[members].sum(), number, nodes, members, own))
    chosen: list[RecalledCommunity] = []
    left = SHARE * budget
    for _, number, nodes, members, own in sorted(listed, key=lambda each: each[:2])[:COMMUNITIES]:
        by_node = dict(zip(members.tolist(), ranks[members].tolist(), strict=True))
        community = describe(index, graph, number, nodes, by_node, asked)
        tokens = sum(token_counts([*_texts(community)]))
        if tokens > left:
            break
        left -= tokens
        chosen.append(extended(community, RecalledCommunity, ranks=own, tokens=tokens))
    return chosen


def _texts(community: Community) -> Iterator[str]:
    """The texts of a community that an answer shows."""
    yield from (memory.title for memory in community.central)
    yield from (sentence.text for sentence in community.summary)
