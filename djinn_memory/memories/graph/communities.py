"""Communities of the graph of links, each with a summary in words of its notes.

A summary has the most central sentences of the notes, by the words that they share.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from djinn_memory.graph.communities import communities
from djinn_memory.graph.network import Ints
from djinn_memory.graph.pagerank import personalised_pagerank
from djinn_memory.memories.graph.link_graph import LinkGraph, read_graph
from djinn_memory.memories.graph.requests import CentralSentence, Community, CommunityList
from djinn_memory.models import Memory, extended
from djinn_memory.notes.markdown import code_blocks, inline
from djinn_memory.search.backend import Index, WordIndex
from djinn_memory.search.legs.words_query import content
from djinn_memory.search.snippet import is_filler
from djinn_memory.store.index.records import IndexedChunk

SENTENCES = 3
"""Sentences of a summary, each of another note."""

LONGEST = 300
"""Maximum characters of a sentence: about three lines in a terminal."""

TELLING = 4
"""Minimum content words of a sentence. Shorter ones are mostly labels and exclamations."""

SMOOTHING = 8
"""Words that are added to the length of a sentence, so that a short one does not win by one word.
"""

_BLOCK = re.compile(r"(?m)\n[ \t\r]*\n|^(?=[ \t>]*(?:[-*+]|\d+[.)]|#{1,6}|\|)[ \t])")
"""The start of a paragraph, of an item of a list, of a heading or of a row of a table."""

_NO_PROSE = re.compile(r"[ \t>]*(?:#{1,6}[ \t]|\||!?\[\[[^\]\n]*\]\][ \t]*$|\[[^\]\n]+\]:)")
_ITEM = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")
_END = re.compile(r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<=[.!?…])[\"'”’)\]*_]{0,3}\s+|(?<=[。！？])")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)\]]*\Z")


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a Markdown text in plain words, without headings, tables and code."""
    for start, end in reversed(code_blocks(text)):
        text = f"{text[:start]}\n\n{text[end:]}"
    for block in _BLOCK.split(text):
        if not _NO_PROSE.match(block) and not is_filler(block):
            prose = block[_ITEM.match(block).end() :]  # type: ignore[union-attr]
            yield from filter(None, map(inline, _END.split(prose)))


def _central_sentences(
    words: WordIndex,
    chunks: Mapping[int, Sequence[IndexedChunk]],
    ranks: Mapping[int, float],
    asked: str = "",
) -> list[tuple[int, str]]:
    """At most `SENTENCES` sentences of notes, each with the number of its note.

    The worth of a word is the share of the notes that have it, times its rarity in the index; that
    of a sentence the mean worth of its words, times the square root of the rank of its note, and
    words of a sentence that was chosen no longer count (centroid summaries: Radev et al. 2004;
    SumBasic: Nenkova and Vanderwende 2005). A word that was `asked` for counts as if
    all notes had it.
    """
    listed = [
        (note, text, stems)
        for note in chunks
        for chunk in chunks[note]
        for text in _sentences(chunk.text)
        if len(text) <= LONGEST and len(stems := content(words, text)) >= TELLING
    ]
    # Items of lists are read where no note has whole sentences.
    listed = [each for each in listed if _ENDED.search(each[1])] or listed
    notes = Counter(stem for stem, _ in {(stem, each[0]) for each in listed for stem in each[2]})
    wanted = content(words, asked) if asked else frozenset()
    worth = {
        stem: (1 if stem in wanted else count / len(chunks))
        * math.log(1 + words.total / max(1, words.frequency(stem)))
        for stem, count in notes.items()
    }
    chosen: list[tuple[int, str]] = []
    while listed and len(chosen) < SENTENCES:
        best = max(
            listed,
            key=lambda each: (
                math.sqrt(ranks[each[0]])
                * sum(worth[stem] for stem in each[2])
                / (len(each[2]) + SMOOTHING)
            ),
        )
        chosen.append(best[:2])
        worth |= dict.fromkeys(best[2] - wanted, 0.0)
        listed = [each for each in listed if each[0] != best[0]]
    return chosen


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
            for key, text in _central_sentences(index.words, read, by_memory, asked)
        ),
    )


def _tags(graph: LinkGraph, members: Sequence[Memory]) -> tuple[str, ...]:
    """Tags of several members, those first that others have least."""
    every = Counter(tag for memory in graph.memories for tag in memory.tags)
    own = Counter(tag for memory in members for tag in memory.tags)
    rarity = {tag: math.log(len(graph.memories) / every[tag]) for tag in own if own[tag] > 1}
    ordered = sorted(rarity, key=lambda tag: (-own[tag] * rarity[tag], tag))
    return tuple(tag for tag in ordered if rarity[tag])[:TAGS]
