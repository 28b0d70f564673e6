"""The recall tool."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline, project
from djinn_memory.mcp.tool import NARROWING_HINTS, OTHER_NARROWING, number, required_text, tool
from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult
from djinn_memory.system.plural import count


class RecallAnswerMemory(MemoryPlace):
    """A whole memory."""

    rank: int
    """The rank, as `rate` accepts it."""
    score: float
    why: str
    text: str
    cut: bool
    """Whether the text was cut to fit the budget. `read` returns all of it."""


class RecallAnswer(Answer):
    """The recalled memories, best first."""

    request_id: str | None
    """The id that `rate` accepts; null if the recall could not be logged."""
    profile: str
    memories: list[RecallAnswerMemory]
    confident: bool
    """False if no memory is likely to help. `memories` then has the titles of the three closest."""
    more: int
    """The number of memories that did not fit into the budget."""
    suggestions: Sequence[str] = ()


def _present(result: RecallResult, _: object) -> RecallAnswer:
    memories = [project(memory, RecallAnswerMemory, why=_why(memory)) for memory in result.memories]
    return project(result, RecallAnswer, memories=memories)


def _why(memory: RecalledMemory) -> str:
    if memory.age > 0:
        reasons = [f"{count(memory.age, 'day')} old"]
    else:
        reasons = ["to come" if memory.age else "of today"]
    if memory.why.words:
        reasons.append(f"says {', '.join(memory.why.words[:6])}")
    reasons += [f"{name} {leg.part:.2f}" for name, leg in memory.why.legs.items()]
    return ", ".join(reasons)


@tool(
    "Recall memories",
    "recall",
    present=_present,
    separator="\n\n",
    without=OTHER_NARROWING,
    hints=NARROWING_HINTS | {"profile": "planning, incident, handoff, or your own."},
    arguments={
        "query": required_text(2000, "What you will do or want to know; domain:x filters."),
        "limit": number(1, 50),
        "budget": number(50, 50_000, "Maximum tokens of text."),
    },
)
def recall(answer: RecallAnswer) -> list[str]:
    """Recall whole memories that help with a question, best first.

    Use it before you begin work, decide something or answer from memory; `rate` the result
    afterwards. Profiles: planning (decisions, plans, commitments), incident (lessons, recent
    changes), handoff (the last days). Not for a passage: use `search`.
    Example: {"query": "database of MyApp", "profile": "planning"}
    """
    parts = []
    if not answer.memories:
        parts.append("No memory matches.")
        if answer.suggestions:
            parts.append(f"Did you mean: {', '.join(answer.suggestions)}?")
    elif not answer.confident:
        parts.append("No confident match. Closest titles, to `read`:")
        parts += [f"{memory.rank}. {headline(memory)}" for memory in answer.memories]
    for memory in answer.memories if answer.confident else ():
        cut = "\n(cut: `read` it for all)" if memory.cut else ""
        head = f"## {memory.rank}. {headline(memory)}"
        parts.append(f"{head}\n{memory.why}\n\n{memory.text}{cut}")
    if answer.more:
        parts.append(f"{answer.more} more did not fit into the budget.")
    if answer.request_id:
        parts.append(
            f"Rate it: rate(request={answer.request_id!r}, useful=[ranks], not_useful=[ranks])"
        )
    return parts
