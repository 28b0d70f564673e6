"""Topics: groups of episodes whose words mean the same, from narrow to wide. Pure.

A topic is a node of a tree of episodes. How much two wordings have in common is for the tests of
habits to say: the node that stands out most in time is the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Numbers = NDArray[np.float32]

Embed = Callable[[Sequence[str]], "Numbers"]
"""Returns a vector of length 1 for each word."""

MOST_STEMS = 3_000
"""The stems that are embedded, the most frequent ones. They take 10 s."""

MOST_LEAVES = 3_000
"""The episodes of which the tree is made, spread evenly. Each other one joins the nearest."""

WIDEST = 0.25
"""The share of all episodes up to which a group is a topic."""

LEAST_MORE = 1.15
"""The least ratio of the size of a topic to that of a topic inside it."""

NAMED = 3
"""The stems that name a topic."""


class Topic(NamedTuple):
    """A group of episodes."""

    name: str
    """Its most telling stems."""
    episodes: Integers
    """The numbers of its episodes, in order."""


class Utterance(NamedTuple):
    """What an episode says."""

    words: tuple[tuple[str, str], ...]
    """Its words with their stems."""
    domain: str | None


def find_topics(wordings: Sequence[Utterance], embed: Embed, fewest: int) -> Iterator[Topic]:
    """Yield the topics with at least `fewest` episodes."""
    if not any(each.words for each in wordings):
        return
    documents = Counter(stem for each in wordings for stem in {stem for _, stem in each.words})
    vectors, rarity = _vectors(wordings, documents, embed)
    spoken = np.flatnonzero(np.abs(vectors).sum(axis=1) > 0)
    if len(spoken) < fewest:
        return
    step = -(-len(spoken) // MOST_LEAVES)
    leaves = spoken[::step]
    nearest = _nearest(vectors[spoken], vectors[leaves])
    order, nodes = _tree(vectors[leaves])
    nodes = _apart(nodes)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    # The episodes in the order of the leaves, so that a node is a slice of them.
    sorted_by_leaf = np.argsort(place[nearest], kind="stable")
    ends = np.concatenate(([0], np.cumsum(np.bincount(place[nearest], minlength=len(order)))))
    for start, stop in nodes:
        low, high = int(ends[start]), int(ends[stop])
        if fewest <= high - low <= WIDEST * len(spoken):
            episodes = np.sort(spoken[sorted_by_leaf[low:high]])
            yield Topic(_name([wordings[number] for number in episodes], rarity), episodes)


def _vectors(
    wordings: Sequence[Utterance], documents: Counter[str], embed: Embed
) -> tuple[Numbers, dict[str, float]]:
    """A vector for each wording, and the weight of each stem.

    It is the sum of the vectors of its stems, weighted by the square of their inverse document
    frequency, beside its domain, which counts as much. In 2 years of other data and 4 made ones,
    the best node for a kind of action has a mean F of .895, and .865 with the plain frequency, .81
    without the domain, .77 for the vectors of whole messages.
    """
    spelled: dict[str, Counter[str]] = {}
    for each in wordings:
        for word, stem in each.words:
            spelled.setdefault(stem, Counter())[word] += 1
    stems = [stem for stem, _ in documents.most_common(MOST_STEMS)]
    of_stems = embed([spelled[stem].most_common(1)[0][0] for stem in stems])
    of_stems = of_stems - of_stems.mean(axis=0)
    total = len(wordings)
    rarity = {stem: float(np.log(total / documents[stem])) ** 2 for stem in stems}
    position = {stem: number for number, stem in enumerate(stems)}
    texts = np.zeros((total, of_stems.shape[1]), dtype=np.float32)
    for number, each in enumerate(wordings):
        for stem in {stem for _, stem in each.words} & position.keys():
            texts[number] += rarity[stem] * of_stems[position[stem]]
    domains = sorted({each.domain for each in wordings if each.domain})
    marks = np.zeros((total, len(domains)), dtype=np.float32)
    for number, each in enumerate(wordings):
        if each.domain:
            marks[number, domains.index(each.domain)] = 1
    has_words = np.abs(texts).sum(axis=1, keepdims=True) > 0
    texts = _units(texts)
    joined = _units(np.hstack([_units(texts - texts.mean(axis=0)), marks]))
    return joined * has_words, rarity


def _units(vectors: Numbers) -> Numbers:
    units: Numbers = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return units


def _nearest(vectors: Numbers, leaves: Numbers) -> Integers:
    """The nearest leaf of each vector."""
    parts = [
        (vectors[start : start + 1_000] @ leaves.T).argmax(axis=1)
        for start in range(0, len(vectors), 1_000)
    ]
    return np.concatenate(parts)


def _tree(vectors: Numbers) -> tuple[Integers, list[tuple[int, int]]]:
    """An order of vectors, and the slices of it that are nodes of their tree.

    Average linkage by chains of nearest neighbours (Murtagh 1983).
    """
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -np.inf)
    members = {number: [number] for number in range(len(vectors))}
    joins: list[list[int]] = []
    chain: list[int] = []
    while len(members) > 1:
        chain = chain or [next(iter(members))]
        last = chain[-1]
        near = int(likeness[last].argmax())
        if len(chain) > 1 and likeness[last, chain[-2]] >= likeness[last, near]:
            near = chain[-2]
        if len(chain) < 2 or near != chain[-2]:
            chain.append(near)
            continue
        del chain[-2:]
        sizes = len(members[last]), len(members[near])
        joined = (sizes[0] * likeness[last] + sizes[1] * likeness[near]) / sum(sizes)
        likeness[last] = likeness[:, last] = joined
        likeness[last, last] = -np.inf
        likeness[near] = likeness[:, near] = -np.inf
        members[last] = members[last] + members.pop(near)
        joins.append([members[last][0], len(members[last])])
    order = np.array(next(iter(members.values())), dtype=np.int64)
    place = {int(leaf): number for number, leaf in enumerate(order)}
    return order, [(place[first], place[first] + size) for first, size in joins]


def _apart(nodes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The nodes, from small to large, without those that add little to a part of them."""
    kept: list[tuple[int, int]] = []
    largest: dict[int, int] = {}
    for start, stop in sorted(nodes, key=lambda node: node[1] - node[0]):
        inside = max((largest.get(leaf, 0) for leaf in range(start, stop)), default=0)
        if stop - start >= LEAST_MORE * inside:
            kept.append((start, stop))
            for leaf in range(start, stop):
                largest[leaf] = stop - start
    return kept


def _name(wordings: Sequence[Utterance], rarity: dict[str, float]) -> str:
    counts = Counter(stem for each in wordings for stem in {stem for _, stem in each.words})
    weights = {stem: counts[stem] * rarity.get(stem, 0.0) for stem in counts}
    return " ".join(sorted(weights, key=lambda stem: (-weights[stem], stem))[:NAMED])
