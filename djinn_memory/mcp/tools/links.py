"""The tool for the links of notes: neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, convert, field

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline
from djinn_memory.mcp.tool import number, tool
from djinn_memory.memories.graph import requests as graph
from djinn_memory.memories.linking import requests as linking
from djinn_memory.models import extended
from djinn_memory.system.plural import count


class _Neighbour(Struct):
    """A note at the other end of a link."""

    name: str = field(name="title")
    vault: str | None
    path: str | None
    """Null if the link has no existing note as its target."""
    line: int
    """The line of the link; 0 for a field of the front matter."""
    field: str | None = None


class _LinksAnswer(Answer):
    """A note and its links."""

    memory: MemoryPlace = field(name="note")
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


def _links_parts(answer: _LinksAnswer) -> list[str]:
    parts = [headline(answer.memory)]
    for label, ends in (("Links to", answer.links), ("Linked from", answer.backlinks)):
        lines = [
            f"- {end.field + ': ' if end.field else ''}{end.name}"
            + (f" [{end.vault}:{end.path}]" if end.path else " (no such note)")
            for end in ends
        ]
        parts.append("\n".join([f"{label}:", *(lines or ["- nothing"])]))
    return parts


def _related_parts(answer: _RelatedAnswer) -> list[str]:
    lines = [f"- {memory.similarity:.2f} {headline(memory)}" for memory in answer.related]
    return ["\n".join(lines) or "Nothing is near."]


def _mentions_parts(answer: _MentionsAnswer) -> list[str]:
    lines = [
        f"- {mention.key}: {mention.vault}:{mention.path}, line {mention.line}: {mention.text}"
        + (f" (or {', '.join(mention.also)})" if mention.also else "")
        for mention in answer.mentions
    ]
    lines += ["There are more."] if answer.more else []
    return ["\n".join(lines) or "No mentions."]


def _present(result: Any, arguments: Any) -> Answer:
    if kind := _ANSWERS.get(arguments.action):
        return convert(result, kind, from_attributes=True)
    return _linked(result)


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

    neighbours: list[_GraphNeighbour] = field(name="around")
    total: int


class _PathAnswer(Answer):
    """The notes on a path; empty if there is none."""

    memories: list[MemoryPlace] = field(name="path")
    edges: Sequence[graph.GraphEdge]


class _Community(Struct):
    """Notes with more links among each other than to others."""

    number: int
    size: int
    tags: Sequence[str]
    central: list[MemoryPlace]
    sentences: list[str] = field(name="summary")


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


def _around_parts(answer: _AroundAnswer) -> list[str]:
    lines = [
        f"- {each.distance} {', '.join(f'{edge.direction} {edge.type}' for edge in each.edges)}: "
        f"{headline(each)}"
        for each in answer.neighbours
    ]
    more = answer.total - len(lines)
    lines += [f"{more} more."] if more else []
    return ["\n".join(lines) or "No links."]


def _path_parts(answer: _PathAnswer) -> list[str]:
    steps = ["", *(f"{edge.direction} {edge.type}: " for edge in answer.edges)]
    lines = [
        f"- {step}{headline(place)}" for step, place in zip(steps, answer.memories, strict=False)
    ]
    return ["\n".join(lines) or "No path."]


def _communities_parts(answer: _CommunitiesAnswer) -> list[str]:
    parts = [
        "\n".join([
            f"{each.number}. {count(each.size, 'note')} around "
            + ", ".join(memory.title for memory in each.central),
            *(f"- {text}" for text in each.sentences),
        ])
        for each in answer.communities
    ]  # fmt: skip
    return parts or ["No communities."]


def _counts_parts(answer: _CountsAnswer) -> list[str]:
    sizes = f"{count(answer.memories, 'note')}, {count(answer.links, 'link')}"
    lines = [f"{sizes}, {count(answer.orphans, 'orphan')}, {count(answer.islands, 'island')}"]
    lines += [f"- {hub.incoming} in, {hub.outgoing} out: {headline(hub)}" for hub in answer.hubs]
    return ["\n".join(lines)]


_ANSWERS: dict[str, type[Answer]] = {
    "links": _LinksAnswer,
    "related": _RelatedAnswer,
    "mentions": _MentionsAnswer,
    "neighbours": _AroundAnswer,
    "path": _PathAnswer,
    "communities": _CommunitiesAnswer,
    "stats": _CountsAnswer,
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
    present=_present,
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
