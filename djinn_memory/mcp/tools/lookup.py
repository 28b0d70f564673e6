"""The tools for finding and reading: search, read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline, uri
from djinn_memory.mcp.tool import OTHER_NARROWING, Argument, number, required_text, tool
from djinn_memory.memories.recall.scores import MemoryScore, MemoryScores
from djinn_memory.memories.verbs import MemoryPage, MemoryWithOrigin
from djinn_memory.models import Hit, Known, Mode, Problem, SearchResult, extended, path_of_links
from djinn_memory.system.plural import count

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
    via: Sequence[str] = ()
    """Titles of the notes whose links lead to it."""


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
            hit, _Passage, score=round(hit.score, 3), page=hit.page_number, text=_text(result, hit)
        )
        for hit in result.shown
    ]
    return extended(result, _SearchAnswer, passages=passages)


def _text(result: SearchResult, hit: Hit) -> str:
    """The passage of a hit; nothing if it is only near."""
    return "" if result.verdict == "near" else hit.excerpt or hit.snippet


@tool(
    "search",
    present=_present_passages,
    separator="\n\n",
    without=OTHER_NARROWING | {"rerank", "expand", "expired", "hops"},
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
    """Search notes and documents by keywords and meaning; returns passages and their paths.

    Use it to look something up, or with mode=meaning and a text of any length to find what is
    similar. Not for preparing work: use `context`.
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
        where += f", {path_of_links(passage.via)}" if passage.via else ""
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


def _note_parts(note: _ReadAnswer) -> list[str]:
    head = f"{headline(note)}\n{note.vault}/{note.path}"
    rest = []
    if note.first_line > 1 or note.last_line < note.total_lines:
        head += f", lines {note.first_line}-{note.last_line} of {note.total_lines}"
    if note.last_line < note.total_lines:
        rest.append(f"(To continue, call read with from_line={note.last_line + 1}.)")
    return [head, note.text, *rest]


class _ListAnswer(Answer):
    """Memories, newest first."""

    memories: Sequence[MemoryPlace]


def _present_list(result: MemoryPage, _: object) -> _ListAnswer:
    memories = [extended(memory, MemoryPlace) for memory in result.memories]
    return extended(result, _ListAnswer, memories=memories)


def _list_parts(answer: _ListAnswer) -> list[str]:
    lines = [f"- {headline(memory)}" for memory in answer.memories]
    return ["\n".join(lines) or "Nothing found."]


class _ScoreAnswer(Answer):
    """Memories with the numbers behind their ranking."""

    memories: Sequence[MemoryScore]
    more: int
    """The number of memories beyond the limit."""


def _present_scores(result: MemoryScores, arguments: Any) -> _ScoreAnswer:
    shown = result.scores[: arguments.limit]
    return _ScoreAnswer(shown, len(result.scores) - len(shown))


def _score_parts(answer: _ScoreAnswer) -> list[str]:
    lines = [
        f"- {memory.title} [{memory.vault}:{memory.path}]: {memory.score.adaptive:.3f}, x"
        f"{memory.score.multiplier:.3f} at recall; used {count(memory.record.uses, 'time')}, rated "
        f"{count(memory.record.valuations, 'time')}, {memory.record.useful} of them useful"
        for memory in answer.memories
    ]
    lines = lines or ["Nothing was used or rated yet."]
    return ["\n".join(lines + ([f"{answer.more} more."] if answer.more else []))]


_PRESENT: dict[str, Callable[[Any, Any], Answer | _ReadAnswer]] = {
    "show": _present_note,
    "list": _present_list,
    "score": _present_scores,
}

_PARTS: dict[type[Struct], Callable[[Any], list[str]]] = {
    _ReadAnswer: _note_parts,
    _ListAnswer: _list_parts,
    _ScoreAnswer: _score_parts,
}


@tool(
    "memories",
    actions=("show", "list"),
    others={"score": "scores.show"},
    default="show",
    present=lambda result, arguments: _PRESENT[arguments.action](result, arguments),
    separator="\n\n",
    without=OTHER_NARROWING | {"why", "skip", "expired"},
    hints={"name": "An id, vault:path, path, title or alias."},
    arguments={
        "from_line": number(1, 10_000_000, default=1),
        "max_characters": number(200, 200_000, default=PAGE),
        "limit": number(1, 200, default=50),
    },
)
def read(answer: Any) -> list[str]:
    """Read a note, or list notes.

    Use it for the full text of a note, in parts if it is long (from_line). list gives the newest
    notes; score, why notes rank as they do. Not by content: use `search`; nor for links: use
    `neighbours`.
    {required}
    """
    return _PARTS[type(answer)](answer)
