"""The tools for finding and reading: search, recall_similar, read, neighbours, list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline, uri
from djinn_memory.mcp.tool import (
    OTHER_NARROWING,
    Argument,
    number,
    required_text,
    tool,
)
from djinn_memory.memories.verbs import MemoryLinks, MemoryWithOrigin
from djinn_memory.models import Hit, Known, Mode, Problem, SearchResult, extended
from djinn_memory.search.query import SearchOptions

PAGE = 20_000
"""Default number of characters of a note that are read at once: about 5,000 tokens."""


class _Passage(MemoryPlace):
    """A part of a note that answers."""

    rank: int
    score: float
    lines: tuple[int, int]
    heading: Sequence[str] = ()
    page: int | None = None
    text: str = ""


class _SearchAnswer(Answer):
    """The passages, best first."""

    passages: list[_Passage]
    confident: bool
    """False when no hit is likely to answer the query."""
    suggestions: Sequence[str] = ()
    verdict: Known = "nothing"
    """Near passages have no text."""


def _present_passages(result: SearchResult, _: object) -> _SearchAnswer:
    passages = [
        extended(
            hit,
            _Passage,
            score=round(hit.score, 3),
            page=hit.page_number,
            text=_text(result, hit),
        )
        for hit in result.shown
    ]
    return extended(result, _SearchAnswer, passages=passages)


def _text(result: SearchResult, hit: Hit) -> str:
    """The passage of a hit; nothing if it is only near."""
    return "" if result.verdict == "near" else hit.excerpt or hit.snippet


@tool(
    "Search the memory",
    "search",
    present=_present_passages,
    separator="\n\n",
    without=OTHER_NARROWING | {"rerank", "expand", "expired"},
    programs=True,
    arguments={
        "query": required_text(
            2000,
            'A question or words; "a b" for a phrase, -word to leave out, path:x, domain:x to '
            "filter.",
        ),
        "limit": number(1, 50, default=10),
        "mode": Argument(Mode, "hybrid"),
    },
)
def search(answer: _SearchAnswer) -> list[str]:
    """Search all notes and documents by keywords and meaning; returns passages and their paths.

    Use it to look something up. `read` then gives the whole note. Not for preparing work: use
    `build_context`.
    Example: {"query": "why did we choose PostgreSQL", "types": ["decision"]}
    """
    parts = []
    if not answer.passages:
        parts.append("No results.")
    elif not answer.confident:
        parts.append("No confident match. Closest:")
    if answer.suggestions and not (answer.passages and answer.confident):
        parts.append(f"Did you mean: {', '.join(answer.suggestions)}?")
    for passage in answer.passages:
        first, last = passage.lines
        where = f"{passage.vault}/{passage.path}, lines {first}-{last}"
        where += f", page {passage.page}" if passage.page else ""
        heading = f"\n   under {' > '.join(passage.heading)}" if passage.heading else ""
        text = "\n".join(f"   {line}" for line in passage.text.splitlines())
        parts.append(f"{passage.rank}. {headline(passage)}\n   {where}{heading}\n{text}")
    return parts


class _ReadAnswer(MemoryPlace):
    """A note, or a part of a note."""

    uri: str
    text: str
    first_line: int
    last_line: int
    total_lines: int
    problems: Sequence[Problem] = ()


def _present_note(note: MemoryWithOrigin, arguments: Any) -> _ReadAnswer:
    lines = note.text.splitlines(keepends=True)
    first = min(arguments.from_line, len(lines) or 1)
    last, size = first - 1, 0
    for line in lines[first - 1 :]:
        if size + len(line) > arguments.max_characters and size:
            break
        last, size = last + 1, size + len(line)
    return extended(
        note,
        _ReadAnswer,
        uri=uri(note),
        text="".join(lines[first - 1 : last])[: arguments.max_characters],
        first_line=first,
        last_line=last,
        total_lines=len(lines),
    )


@tool(
    "Read a note",
    "memories.show",
    present=_present_note,
    separator="\n\n",
    without=frozenset({"why"}),
    arguments={
        "from_line": number(1, 10_000_000, default=1),
        "max_characters": number(200, 200_000, default=PAGE),
    },
)
def read(note: _ReadAnswer) -> list[str]:
    """Read a note.

    Use it when the full text of a note matters. A long note comes in parts: use `from_line`.
    Not for finding something: use `search`.
    Example: {"name": "Project: MyApp"}
    """
    head = f"{headline(note)}\n{note.vault}/{note.path}"
    rest = []
    if note.first_line > 1 or note.last_line < note.total_lines:
        head += f", lines {note.first_line}-{note.last_line} of {note.total_lines}"
    if note.last_line < note.total_lines:
        rest.append(f"(To continue, call read with from_line={note.last_line + 1}.)")
    return [head, note.text, *rest]


class _Neighbour(Struct):
    """A note at the other end of a link."""

    title: str
    vault: str | None
    path: str | None
    """Null if the link has no existing note as its target."""
    line: int
    """The line of the link; 0 for a field of the front matter."""
    field: str | None = None


class _NeighboursAnswer(Answer):
    """A note and its links."""

    note: MemoryPlace
    links: list[_Neighbour]
    backlinks: list[_Neighbour]


def _present_links(result: MemoryLinks, _: object) -> _NeighboursAnswer:
    links, backlinks = (
        [extended(link, _Neighbour, title=link.title or link.target) for link in ends]
        for ends in (result.links, result.backlinks)
    )
    return _NeighboursAnswer(extended(result.memory, MemoryPlace), links, backlinks)


@tool(
    "Links of a note",
    "memories.links",
    present=_present_links,
    separator="\n\n",
)
def neighbours(answer: _NeighboursAnswer) -> list[str]:
    """List what a note links to and what links to it.

    Use it to follow a thread: the project of a decision, what builds on it. Not for a subject: use
    `search`.
    Example: {"name": "Project: MyApp"}
    """
    parts = [headline(answer.note)]
    for label, ends in (("Links to", answer.links), ("Linked from", answer.backlinks)):
        lines = [
            f"- {end.title}" + (f" [{end.vault}:{end.path}]" if end.path else " (no such note)")
            for end in ends
        ]
        parts.append("\n".join([f"{label}:", *(lines or ["- nothing"])]))
    return parts


class _ListAnswer(Answer):
    """Memories, newest first."""

    memories: list[MemoryPlace]


@tool(
    "List memories",
    "memories.list",
    without=OTHER_NARROWING | {"skip", "expired"},
    arguments={"limit": number(1, 200, default=50)},
    programs=True,
)
def list_(answer: _ListAnswer) -> list[str]:
    """List memories, newest first.

    Use it to see recent memories, or those of a type or tag. Not by content: use `search`.
    Example: {"types": ["commitment"], "since": "30d"}
    """
    return [f"- {headline(memory)}" for memory in answer.memories] or ["Nothing found."]


class _SimilarMemory(MemoryPlace):
    """A memory that is similar to the text."""

    plane: str | None
    """The plane of the type; null for a plain note."""
    similarity: float
    """The score of the search, from 0 to 1."""
    content: str
    """The passage that is most similar; empty if it is only near."""


class _SimilarAnswer(Answer):
    """The memories of all types, most similar first."""

    memories: list[_SimilarMemory]
    confident: bool
    """False if none is likely to be about the same."""
    verdict: Known = "nothing"


def _present_similar(result: SearchResult, _: object) -> _SimilarAnswer:
    # Of a long memory the best passage stands for it.
    best: dict[str, Hit] = {}
    for hit in result.shown:
        best.setdefault(hit.address, hit)
    memories = [
        extended(hit, _SimilarMemory, similarity=hit.score, content=_text(result, hit))
        for hit in best.values()
    ]
    return extended(result, _SimilarAnswer, memories=memories)


def _by_meaning(fields: dict[str, Any]) -> None:
    fields["mode"] = "meaning"


@tool(
    "Recall what is similar",
    "search",
    present=_present_similar,
    prepare=_by_meaning,
    separator="\n\n",
    without=frozenset(SearchOptions.__struct_fields__) - {"agent", "query", "limit"},
    names={"query": "text"},
    arguments={
        "text": required_text(2000, "Words, or a text of any length."),
        "limit": number(1, 50),
    },
)
def recall_similar(answer: _SimilarAnswer) -> list[str]:
    """Find memories of all types with a similar meaning: episodes, patterns, entities, documents.

    Use it for "have we had this before?". Not for keywords: use `search`.
    Example: {"text": "the deployment hangs at the last step"}
    """
    parts = [] if answer.confident else ["Nothing is clearly similar. Closest:"]
    if not answer.memories:
        parts = ["Nothing is similar."]
    for memory in answer.memories:
        text = "\n".join(f"   {line}" for line in memory.content.splitlines())
        where = f"{memory.vault}/{memory.path}"
        parts.append(f"{memory.similarity:.2f} {headline(memory)}\n   {where}\n{text}")
    return parts
