"""The graph leg: finds memories that links connect with the best candidates of the other legs.

It answers questions that name something of one note and are answered by another. A random walk
starts at the best candidates, by their scores, and takes links in both directions (personalised
PageRank). A link in the passage that matches is taken more often than others, and a memory with
many links is entered less often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from djinn_memory.models import Filters
from djinn_memory.search.candidate import NOTHING, Candidate, Scored, once
from djinn_memory.search.state import Leg, Search
from djinn_memory.store.index.records import ChunkRef, IndexedMemory, Selection

if TYPE_CHECKING:
    from djinn_memory.graph.network import Floats, Network

SEEDS = 20
"""Number of best memories of the first round at which walks start."""

SHARPNESS = 8
"""The exponent of the scores of seeds, relative to the best. Of 60 questions over two notes of a
vault, recall@5 is .47 with 1, .72 with 2, .77 with 8 and with 16."""

HUBS = 0.5
"""The exponent of the number of links of a memory, by which it is entered less often. With 0 and 1
recall@5 of these questions is the same or .07 lower."""

MATCHING = 0.8
"""Passages with at least this share of the best score match the question."""

IN_PASSAGE = 5.0
"""How much more often a link in a matching passage is taken. With 1 recall@5 of these questions is
.27 lower, with 2 .05; 15 and 50 change nothing."""

MENTION = 0.5
"""How often a memory is entered by a name in a text, relative to a link."""

EPISODE = 0.5
"""The factor for a record of a journal, which links to whatever a day had."""

LEVEL = 0.5
"""The exponent of a memory's share of the walk, relative to the largest: with 1, only links of
notes with few links count."""

_DAY = re.compile(r"(?:^|/)\d{4}-\d\d-\d\d[^/]*\.md$")
"""The path of a note of a day."""

_ENTITIES = Filters(planes=("knowledge",), excluded=(("type", "fact"),))


class GraphLeg(Leg):
    """Finds memories by links from the best candidates of the other legs, in the second round."""

    name = "graph"
    label = "graph"
    unit = "share of the walk"
    weight = 3.0
    """Recall@5 of these questions is .57 with 1, .73 with 2 and 3, .80 with 6, where questions that
    one note answers begin to lose."""
    modes = ("graph",)
    second_round = True

    def __init__(self, search: Search) -> None:
        self._walks: dict[int, tuple[Network, list[int]]] = {}
        """By chunk that links raised, in any gathering: the network, and the nodes at which the
        walk started, best first."""
        self._own: dict[int, float] = {}
        """By chunk the score of the first round, without feedback."""
        self._reached: dict[int, Scored] = {}
        """By chunk what the walk says about its memory."""

    def propose(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
    ) -> Callable[[], list[ChunkRef]] | None:
        """Follow the links of the best candidates of the first round."""
        self._own, self._reached = {}, {}
        if seeds is None:
            return None
        self._own = {each.chunk_id: each.score - each.feedback for each in seeds}
        return lambda: self._follow(search, selection, seeds) if seeds else []

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], Mapping[int, Scored]]:
        """What the walk says, but at least the score of the first round.

        So a candidate that no link raises keeps its score.
        """
        scores = {}
        for chunk in chunk_ids if self._own else ():
            reached = self._reached.get(chunk, NOTHING)
            value = max(reached.value, self._own.get(chunk, 0.0))
            scores[chunk] = reached._replace(value=value)
        return lambda: scores

    def path(self, search: Search, candidate: Candidate) -> list[int]:
        """The memories on the shortest way from a seed to a candidate that links raised."""
        if candidate.chunk_id not in self._walks:
            return []
        network, seeds = self._walks[candidate.chunk_id]
        end = network.node(candidate.memory_id)
        way = network.path([seed for seed in seeds if seed != end], end, search.hops)
        return [int(network.keys[node]) for node in way[:-1]]

    def _follow(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate]
    ) -> list[ChunkRef]:
        best = once(seeds)[:SEEDS]
        network = _network(search, best, _matching(search, seeds))
        top, linked = best[0].score, {*network.keys.tolist()}
        weights = {
            network.node(each.memory_id): (each.score / top) ** SHARPNESS
            for each in best
            if each.memory_id in linked and each.score > 0
        }
        values = _walk(network, weights, search.hops)
        nodes = values.argsort(kind="stable")[::-1][: search.depth]
        shares = {int(network.keys[node]): float(values[node]) for node in nodes if values[node]}
        memories = search.allowed(selection, shares)
        shares = {
            key: share * _down(memories[key]) for key, share in shares.items() if key in memories
        }
        most = max(shares.values(), default=0.0)
        chunk_of = {each.memory_id: each.chunk_id for each in reversed(seeds)}
        refs = []
        for key in sorted(shares, key=lambda key: -shares[key]):
            memory = memories[key]
            chunk = chunk_of.get(key, memory.first_chunk)
            if chunk is not None:
                refs.append(ChunkRef(chunk, key, (memory.vault, memory.path, 1, 0)))
                value = (top - best[0].feedback) * (shares[key] / most) ** LEVEL
                self._reached[chunk] = Scored(shares[key], value, len(refs))
                if value > self._own.get(chunk, 0.0):
                    self._walks[chunk] = network, [*weights]
        return refs


def _network(
    search: Search, best: Sequence[Candidate], matching: Mapping[int, Sequence[tuple[int, int]]]
) -> Network:
    """The links of the vaults, and the names in the texts of candidates, with their weights.

    `matching` are the lines of passages that match, by memory.
    """
    import numpy as np

    from djinn_memory.graph.network import Network

    links = search.index.ends()
    mentions = np.array([*_mentions(search, best)], np.int64).reshape(-1, 2)
    keys, nodes = np.unique(np.concatenate([links[:, :2], mentions]), return_inverse=True)
    sources, targets = nodes.reshape(-1, 2).T
    degrees = np.bincount(nodes.ravel())
    weights = np.array((degrees[sources] * degrees[targets]) ** -HUBS, np.float64)
    weights[len(links) :] *= MENTION
    for key, passages in matching.items():
        own = np.flatnonzero(links[:, 0] == key)
        inside = [any(first <= line <= last for first, last in passages) for line in links[own, 2]]
        weights[own[inside]] *= IN_PASSAGE
    return Network(keys, sources, targets, weights)


def _walk(network: Network, weights: Mapping[int, float], hops: int) -> Floats:
    """The share of a walk from seeds with these weights that is at each node by links."""
    from djinn_memory.graph.pagerank import DAMPING, personalised_pagerank

    ranks = personalised_pagerank(network, weights, steps=hops)
    total = sum(weights.values())
    for node, weight in weights.items():
        ranks[node] -= (1 - DAMPING) * weight / total
    return ranks.clip(0)


def _matching(search: Search, seeds: Sequence[Candidate]) -> dict[int, list[tuple[int, int]]]:
    """The lines of the passages that match, by memory."""
    passages = [each for each in seeds if each.score >= MATCHING * seeds[0].score]
    search.load(each.chunk_id for each in passages)
    lines: dict[int, list[tuple[int, int]]] = {}
    for each in passages:
        lines.setdefault(each.memory_id, []).append(search.chunk(each.chunk_id).lines)
    return lines


def _mentions(search: Search, best: Sequence[Candidate]) -> Iterator[tuple[int, int]]:
    """Pairs of a candidate and an entity whose name is in its text."""
    selection = Selection(_ENTITIES, search.selection.now)
    entities = search.index.names(selection)
    search.load(each.chunk_id for each in best)
    texts = {each.memory_id: _words(search.chunk(each.chunk_id).text) for each in best}
    every = "".join(texts.values())
    for entity in entities if best else ():
        for name in {_words(name) for name in (entity.title, *entity.aliases)}:
            if name in every and name.strip():
                for key, text in texts.items():
                    if name in text and key != entity.memory_id:
                        yield key, entity.memory_id


def _words(text: str) -> str:
    words = re.findall(r"\w+", text.casefold())
    return f" {' '.join(words)} "


def _down(memory: IndexedMemory) -> float:
    """The factor for a memory: less for records of journals and notes of a day."""
    return EPISODE if memory.plane == "episodic" or _DAY.search(memory.path) else 1.0
