"""The tools that look things up: search, read, neighbours, list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import MemoryPlace, headline, place, problem_lines, uri
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.handmade import HandTool
from djinn_memory.mcp.narrowing import Since, Tags, Types, Until, Vaults, filters, narrowing
from djinn_memory.memories.catalog.catalog import LinkEnd
from djinn_memory.models import Hit, Problem

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        description="An id (mem_...), `vault:path`, a path, a title or an alias.",
    ),
]
PAGE = 20_000
"""Characters of a note that are read at once unless more are asked for: about 5,000 tokens."""


class SearchArguments(Struct, forbid_unknown_fields=True):
    """Find passages in all notes and documents, by words and by meaning.

    Use it to look something up: where a note says this, what a document says, whether something
    was written down. It shows short passages with their place; `read` then gives a whole note.
    Not for getting ready for a piece of work: `recall` weighs what proved useful, and gives whole
    memories. Searching does not change how memories rank.
    Example: {"query": "why did we choose PostgreSQL", "types": ["decision"]}
    """

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            description="A question or words. "
            '"a b" asks for the phrase, -word leaves out, tag:x type:x path:x filter.',
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=50, description="How many passages at most.")] = 10
    types: Types = []
    tags: Tags = []
    vaults: Vaults = []
    since: Since = ""
    until: Until = ""
    mode: Annotated[
        Literal["hybrid", "words", "meaning"],
        Meta(description="Both ways of searching, or one of them."),
    ] = "hybrid"


class Passage(MemoryPlace):
    """A part of a note that answers."""

    rank: int
    score: float
    lines: tuple[int, int]
    heading: Sequence[str] = ()
    page: int | None = None
    text: str = ""


class SearchAnswer(Struct):
    """The passages, the best first."""

    passages: list[Passage]
    confident: bool
    """False when nothing found is likely to be what was asked for."""
    suggestions: Sequence[str] = ()
    problems: Sequence[Problem] = ()


def search(context: ClientContext, asked: SearchArguments) -> SearchAnswer:
    """As `djinn memory search`."""
    result = context.djinn.search(
        asked.query,
        filters(asked.types, asked.tags, asked.vaults, asked.since, asked.until),
        agent=context.agent,
        mode=asked.mode,
        limit=asked.limit,
    )
    passages = [_passage(hit) for hit in result.hits]
    return SearchAnswer(passages, result.confident, result.suggestions, result.problems)


def search_text(found: SearchAnswer) -> str:
    """The passages, numbered."""
    parts = []
    if not found.passages:
        parts.append("Nothing found.")
    elif not found.confident:
        parts.append("Nothing found that surely answers; the nearest:")
    if found.suggestions and not (found.passages and found.confident):
        parts.append(f"Did you mean: {', '.join(found.suggestions)}?")
    for one in found.passages:
        where = f"{one.vault}/{one.path}, lines {one.lines[0]}-{one.lines[1]}"
        where += f", page {one.page}" if one.page else ""
        heading = f"\n   under {' > '.join(one.heading)}" if one.heading else ""
        text = "\n".join(f"   {line}" for line in one.text.splitlines())
        parts.append(f"{one.rank}. {headline(one)}\n   {where}{heading}\n{text}")
    return "\n\n".join([*parts, *problem_lines(found.problems)])


class ReadArguments(Struct, forbid_unknown_fields=True):
    """Read a whole note or document, named by id, path or title.

    Use it when `search`, `recall`, `list` or `neighbours` named a note and its full text matters.
    A long one comes in parts: go on with `from_line`. Not for finding something: use `search`.
    Reading a memory counts as having used it.
    Example: {"name": "Project: MyApp"}
    """

    name: Name
    from_line: Annotated[int, Meta(ge=1, le=10_000_000, description="Begin at this line.")] = 1
    max_characters: Annotated[
        int, Meta(ge=200, le=200_000, description="About how much at most.")
    ] = PAGE


class ReadAnswer(MemoryPlace):
    """A note, or a part of one."""

    uri: str
    text: str
    first_line: int
    last_line: int
    total_lines: int
    problems: Sequence[Problem] = ()


def read(context: ClientContext, asked: ReadArguments) -> ReadAnswer:
    """As `djinn memory show`."""
    djinn = context.djinn
    entry = djinn.memories.show(asked.name, agent=context.agent)
    lines = entry.text.splitlines(keepends=True)
    first = min(asked.from_line, len(lines) or 1)
    last, size = first - 1, 0
    for line in lines[first - 1 :]:
        if size + len(line) > asked.max_characters and size:
            break
        last, size = last + 1, size + len(line)
    part = "".join(lines[first - 1 : last])[: asked.max_characters]
    return ReadAnswer(
        id=entry.id,
        type=entry.type,
        title=entry.title,
        vault=entry.vault,
        path=entry.path,
        date=entry.date,
        tags=entry.tags,
        uri=uri(entry.vault, entry.path),
        text=part,
        first_line=first,
        last_line=last,
        total_lines=len(lines),
        problems=list(djinn.problems),
    )


def read_text(note: ReadAnswer) -> str:
    """Where it is, and what it says."""
    head = f"{headline(note)}\n{note.vault}/{note.path}"
    rest = []
    if note.first_line > 1 or note.last_line < note.total_lines:
        head += f", lines {note.first_line}-{note.last_line} of {note.total_lines}"
    if note.last_line < note.total_lines:
        rest.append(f"(It goes on: read it with from_line={note.last_line + 1}.)")
    return "\n\n".join([head, note.text, *rest, *problem_lines(note.problems)])


class NeighboursArguments(Struct, forbid_unknown_fields=True):
    """Show what a note links to and what links to it.

    Use it to follow a thread from a note that matters: the project a decision belongs to, what
    builds on it. Not for finding notes about a subject: use `search`.
    Example: {"name": "Project: MyApp"}
    """

    name: Name


class Neighbour(Struct):
    """A note at the other end of a link."""

    title: str
    vault: str | None
    path: str | None
    """Null where the link leads to no note that there is."""
    line: int
    """Where the link stands; 0 for a field of the front matter."""
    field: str | None = None


class NeighboursAnswer(Struct):
    """A note and its links."""

    note: MemoryPlace
    links: list[Neighbour]
    backlinks: list[Neighbour]
    problems: Sequence[Problem] = ()


def neighbours(context: ClientContext, asked: NeighboursArguments) -> NeighboursAnswer:
    """As the links of `djinn memory show`."""
    djinn = context.djinn
    detail = djinn.memories.links(asked.name, agent=context.agent)
    return NeighboursAnswer(
        place(detail.memory),
        [_neighbour(one) for one in detail.links],
        [_neighbour(one) for one in detail.backlinks],
        list(djinn.problems),
    )


def neighbours_text(around: NeighboursAnswer) -> str:
    """Both ways, a line each."""
    parts = [headline(around.note)]
    for label, ends in (("Links to", around.links), ("Linked from", around.backlinks)):
        shown = [
            f"- {one.title}" + (f" [{one.vault}:{one.path}]" if one.path else " (no such note)")
            for one in ends
        ]
        parts.append("\n".join([f"{label}:", *(shown or ["- nothing"])]))
    return "\n\n".join([*parts, *problem_lines(around.problems)])


class ListArguments(Struct, forbid_unknown_fields=True):
    """List memories, newest first, without a question.

    Use it to see what there is lately, of a type, or under a tag. Not for finding something by
    its content: use `search`.
    Example: {"types": ["commitment"], "since": "30d"}
    """

    types: Types = []
    tags: Tags = []
    vaults: Vaults = []
    since: Since = ""
    until: Until = ""
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 50


class ListAnswer(Struct):
    """Memories, the newest first."""

    memories: list[MemoryPlace]
    problems: Sequence[Problem] = ()


def listed(context: ClientContext, asked: ListArguments) -> ListAnswer:
    """As `djinn memory list`."""
    djinn = context.djinn
    entries = djinn.memories.list(
        agent=context.agent, limit=asked.limit, **narrowing(asked)
    ).memories
    return ListAnswer([place(one) for one in entries], list(djinn.problems))


def listed_text(answer: ListAnswer) -> str:
    """A line for each."""
    lines = [f"- {headline(one)}" for one in answer.memories] or ["Nothing found."]
    return "\n".join([*lines, *problem_lines(answer.problems)])


TOOLS = (
    HandTool("search", "Search the memory", SearchArguments, SearchAnswer, search, search_text),
    HandTool("read", "Read a note", ReadArguments, ReadAnswer, read, read_text),
    HandTool(
        "neighbours",
        "Links of a note",
        NeighboursArguments,
        NeighboursAnswer,
        neighbours,
        neighbours_text,
    ),
    HandTool("list", "List memories", ListArguments, ListAnswer, listed, listed_text),
)


def _passage(hit: Hit) -> Passage:
    return Passage(
        id=hit.id,
        type=hit.type,
        title=hit.title,
        vault=hit.vault,
        path=hit.path,
        date=hit.date,
        tags=hit.tags,
        rank=hit.rank,
        score=round(hit.score, 3),
        lines=hit.lines,
        heading=hit.heading,
        page=hit.page_number,
        text=hit.excerpt or hit.snippet,
    )


def _neighbour(link: LinkEnd) -> Neighbour:
    return Neighbour(link.title or link.target, link.vault, link.path, link.line, link.field)
