"""The tool that recalls what is similar to a text."""

from __future__ import annotations

from typing import Any

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline, project
from djinn_memory.mcp.tool import number, required_text, tool
from djinn_memory.models import Hit, SearchResult
from djinn_memory.search.query import SearchOptions


class SimilarMemory(MemoryPlace):
    """A memory that is similar to the text."""

    plane: str | None
    """The plane of the type; null for a plain note."""
    similarity: float
    """The score of the search, from 0 to 1."""
    content: str
    """The passage that is most similar."""


class SimilarAnswer(Answer):
    """The memories of all types, most similar first."""

    memories: list[SimilarMemory]
    confident: bool
    """False if none is likely to be about the same."""


def _present(result: SearchResult, _: object) -> SimilarAnswer:
    # Of a long memory the best passage stands for it.
    best: dict[str, Hit] = {}
    for hit in result.hits:
        best.setdefault(hit.address, hit)
    memories = [
        project(hit, SimilarMemory, similarity=hit.score, content=hit.excerpt or hit.snippet)
        for hit in best.values()
    ]
    return project(result, SimilarAnswer, memories=memories)


def _by_meaning(fields: dict[str, Any]) -> None:
    fields["mode"] = "meaning"


@tool(
    "Recall what is similar",
    "search",
    present=_present,
    prepare=_by_meaning,
    separator="\n\n",
    without=frozenset(SearchOptions.__struct_fields__) - {"agent", "query", "limit"},
    names={"query": "text"},
    arguments={
        "text": required_text(2000, "Words, or a text of any length."),
        "limit": number(1, 50),
    },
)
def recall_similar(answer: SimilarAnswer) -> list[str]:
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
