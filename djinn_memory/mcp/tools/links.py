"""The tool for the links of notes: neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline
from djinn_memory.mcp.tool import number, tool
from djinn_memory.memories.graph import requests as graph
from djinn_memory.memories.linking import requests as linking
from djinn_memory.memories.verbs import LinkEnd, MemoryLinks
from djinn_memory.models import Memory, extended
from djinn_memory.system.plural import count


class _Neighbour(Struct):
    """A note at the other end of a link."""

    title: str
    vault: str | None
    path: str | None
    """Null if the link has no existing note as its target."""
    line: int
    """The line of the link; 0 for a field of the front matter."""
    field: str | None = None


class _LinksAnswer(Answer):
    """A note and its links."""

    note: MemoryPlace
    links: list[_Neighbour]
    backlinks: list[_Neighbour]


class _Related(MemoryPlace):
    """A note that is near in meaning."""

    similarity: float


class _RelatedAnswer(Answer):
    """Notes near in meaning, without a link."""

    related: list[_Related]


class _Mention(MemoryPlace):
    """A place that says a name of the note."""

    key: str
    line: int
    text: str
    also: Sequence[str] = ()
    """Other notes that have the name."""


class _MentionsAnswer(Answer):
    """Places that say a name of the note without a link, the newest first."""

    mentions: list[_Mention]
    more: bool


class _LinkedAnswer(Answer):
    """The links that were written."""

    title: str
    links: int
    notes: Sequence[str]
    change: str | None = None
    """For undo."""


def _links(result: MemoryLinks) -> _LinksAnswer:
    def ends(listed: Sequence[LinkEnd]) -> list[_Neighbour]:
        return [extended(link, _Neighbour, title=link.title or link.target) for link in listed]

    note = _place(result.memory)
    return _LinksAnswer(note=note, links=ends(result.links), backlinks=ends(result.backlinks))


def _links_parts(answer: _LinksAnswer) -> list[str]:
    parts = [headline(answer.note)]
    for label, ends in (("Links to", answer.links), ("Linked from", answer.backlinks)):
        lines = [
            f"- {end.field + ': ' if end.field else ''}{end.title}"
            + (f" [{end.vault}:{end.path}]" if end.path else " (no such note)")
            for end in ends
        ]
        parts.append("\n".join([f"{label}:", *(lines or ["- nothing"])]))
    return parts


def _related(result: linking.RelatedMemories) -> _RelatedAnswer:
    return extended(
        result, _RelatedAnswer, related=[extended(memory, _Related) for memory in result.related]
    )


def _related_parts(answer: _RelatedAnswer) -> list[str]:
    lines = [f"- {memory.similarity:.2f} {headline(memory)}" for memory in answer.related]
    return ["\n".join(lines) or "Nothing is near."]


def _mentions(result: linking.UnlinkedMentions) -> _MentionsAnswer:
    mentions = [extended(mention, _Mention) for mention in result.mentions]
    return _MentionsAnswer(mentions=mentions, more=result.more)


def _mentions_parts(answer: _MentionsAnswer) -> list[str]:
    lines = [
        f"- {mention.key}: {mention.vault}:{mention.path}, line {mention.line}: {mention.text}"
        + (f" (or {', '.join(mention.also)})" if mention.also else "")
        for mention in answer.mentions
    ]
    lines += ["There are more."] if answer.more else []
    return ["\n".join(lines) or "No mentions."]


def _linked(result: linking.LinkedMentions | linking.NoteLink) -> _LinkedAnswer:
    if isinstance(result, linking.LinkedMentions):
        return extended(result, _LinkedAnswer, title=result.memory.title)
    notes = [f"{result.memory.vault}/{result.memory.path}"]
    return extended(
        result, _LinkedAnswer, title=result.target.title, links=int(result.changed), notes=notes
    )


def _linked_parts(answer: _LinkedAnswer) -> list[str]:
    said = f"{count(answer.links, 'link')} to {answer.title} written"
    return [f"{said}: {', '.join(answer.notes)}" if answer.links else "Nothing was changed."]


class _GraphNeighbour(MemoryPlace):
    """A note around the one that was named."""

    distance: int
    edges: Sequence[graph.GraphEdge]


class _AroundAnswer(Answer):
    """The notes around a note, the nearest first."""

    around: list[_GraphNeighbour]
    total: int


class _PathAnswer(Answer):
    """The notes on a path; empty if there is none."""

    path: list[MemoryPlace]
    edges: Sequence[graph.GraphEdge]


class _Community(Struct):
    """Notes with more links among each other than to others."""

    number: int
    size: int
    tags: Sequence[str]
    central: list[MemoryPlace]
    summary: list[str]


class _CommunitiesAnswer(Answer):
    """Communities, the largest first."""

    communities: list[_Community]
    total: int


class _Hub(MemoryPlace):
    """A note with many links."""

    incoming: int
    outgoing: int


class _CountsAnswer(Answer):
    """The numbers of the graph of links."""

    memories: int
    links: int
    orphans: int
    islands: int
    hubs: list[_Hub]


def _around(result: graph.NeighbourList) -> _AroundAnswer:
    around = [extended(each, _GraphNeighbour) for each in result.neighbours]
    return _AroundAnswer(around=around, total=result.total)


def _around_parts(answer: _AroundAnswer) -> list[str]:
    lines = [
        f"- {each.distance} {', '.join(f'{edge.direction} {edge.type}' for edge in each.edges)}: "
        f"{headline(each)}"
        for each in answer.around
    ]
    more = answer.total - len(lines)
    lines += [f"{more} more."] if more else []
    return ["\n".join(lines) or "No links."]


def _path(result: graph.GraphPath) -> _PathAnswer:
    return _PathAnswer(path=[_place(memory) for memory in result.memories], edges=result.edges)


def _path_parts(answer: _PathAnswer) -> list[str]:
    steps = ["", *(f"{edge.direction} {edge.type}: " for edge in answer.edges)]
    lines = [f"- {step}{headline(place)}" for step, place in zip(steps, answer.path, strict=False)]
    return ["\n".join(lines) or "No path."]


def _communities(result: graph.CommunityList) -> _CommunitiesAnswer:
    return _CommunitiesAnswer(
        communities=[
            extended(
                each,
                _Community,
                central=[_place(memory) for memory in each.central],
                summary=[sentence.text for sentence in each.summary],
            )
            for each in result.communities
        ],
        total=result.total,
    )


def _communities_parts(answer: _CommunitiesAnswer) -> list[str]:
    parts = [
        "\n".join([
            f"{each.number}. {count(each.size, 'note')} around "
            + ", ".join(memory.title for memory in each.central),
            *(f"- {text}" for text in each.summary),
        ])
        for each in answer.communities
    ]  # fmt: skip
    return parts or ["No communities."]


def _counts(result: graph.GraphCounts) -> _CountsAnswer:
    return extended(result, _CountsAnswer, hubs=[extended(hub, _Hub) for hub in result.hubs])


def _counts_parts(answer: _CountsAnswer) -> list[str]:
    sizes = f"{count(answer.memories, 'note')}, {count(answer.links, 'link')}"
    lines = [f"{sizes}, {count(answer.orphans, 'orphan')}, {count(answer.islands, 'island')}"]
    lines += [f"- {hub.incoming} in, {hub.outgoing} out: {headline(hub)}" for hub in answer.hubs]
    return ["\n".join(lines)]


def _place(memory: Memory) -> MemoryPlace:
    return extended(memory, MemoryPlace)


_PRESENT: dict[str, Callable[[Any], Answer]] = {
    "links": _links,
    "related": _related,
    "mentions": _mentions,
    "link_mentions": _linked,
    "link": _linked,
    "neighbours": _around,
    "path": _path,
    "communities": _communities,
    "stats": _counts,
}

_PARTS: dict[type[Struct], Callable[[Any], list[str]]] = {
    _LinksAnswer: _links_parts,
    _RelatedAnswer: _related_parts,
    _MentionsAnswer: _mentions_parts,
    _LinkedAnswer: _linked_parts,
    _AroundAnswer: _around_parts,
    _PathAnswer: _path_parts,
    _CommunitiesAnswer: _communities_parts,
    _CountsAnswer: _counts_parts,
}


@tool(
    "memories",
    actions=("links", "related", "mentions", "link_mentions", "link"),
    others={
        "neighbours": "graph.neighbours",
        "path": "graph.path",
        "communities": "graph.communities",
        "stats": "graph.stats",
    },
    default="links",
    present=lambda result, arguments: _PRESENT[arguments.action](result),
    separator="\n\n",
    without=frozenset({"dry_run"}),
    hints={"mentions": "Keys, or all.", "relation": "Such as depends_on.", "hops": "1 to 3."},
    arguments={"limit": number(1, 50)},
)
def neighbours(answer: Any) -> list[str]:
    """Follow a note's links, and write new ones.

    Use it for what surrounds a note. related: near in meaning, not linked; mentions: places that
    say its name without a link; link_mentions links them; neighbours: over hops; path: between two;
    communities, stats: of all notes. Not for text: use `read`.
    {required}
    """
    return _PARTS[type(answer)](answer)
