"""The tools for ratings and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from djinn_memory.mcp.answers import Answer
from djinn_memory.mcp.tool import NAME_HINT, Argument, number, tool
from djinn_memory.memories.recall.rating import RatingResult
from djinn_memory.memories.recall.scores import MemoryScore, MemoryScores
from djinn_memory.system.plural import count

_Memory = Annotated[int, Meta(ge=1, le=1000)] | Annotated[str, Meta(min_length=1, max_length=300)]


class ScoreAnswer(Answer):
    """Memories with the numbers behind their ranking."""

    memories: Sequence[MemoryScore]
    more: int
    """The number of memories beyond the limit."""


def _present_scores(result: MemoryScores, arguments: Any) -> ScoreAnswer:
    shown = result.scores[: arguments.limit]
    return ScoreAnswer(shown, len(result.scores) - len(shown))


def _memories(description: str) -> Argument:
    return Argument(Annotated[Sequence[_Memory], Meta(max_length=100, description=description)], ())


@tool(
    "Rate what was recalled",
    "rate",
    names={"target": "request"},
    hints={
        "request": "`last`, or the request_id of a recall; without it, ids may be of any memory.",
        "gap_query": "The query that missed it.",
    },
    arguments={
        "useful": _memories("Ranks or ids that helped."),
        "not_useful": _memories("Ranks or ids that did not help."),
    },
)
def rate(result: RatingResult) -> list[str]:
    """Rate which memories of a recall helped, so that they rank higher next time.

    Use it after you used the memories of a `recall`; rate only what you can judge. `gap` reports
    what was missing. Not for correcting a memory: `remember` with existing=revise.
    Example: {"request": "last", "useful": [1, 3], "gap": "why we left MySQL"}
    """
    lines = [
        f"- {'useful' if memory.useful else 'not useful'}: {memory.title} [{memory.memory}]"
        for memory in result.judged
    ]
    lines += [f"Noted as missing: {result.gap_id}"] if result.gap_id else []
    return ["Thank you.", *lines]


@tool(
    "Explain a memory's rank",
    "scores.show",
    present=_present_scores,
    hints={"name": f"{NAME_HINT} Without it, all that were used or rated."},
    arguments={"limit": number(1, 200, default=20)},
)
def score(answer: ScoreAnswer) -> list[str]:
    """Show why a memory ranks as it does.

    Use it when the order of a recall surprises you. Not for finding something: use `search`.
    Example: {"name": "Project: MyApp"}
    """
    lines = [
        f"- {memory.title} [{memory.vault}:{memory.path}]: {memory.score.adaptive:.3f}, x"
        f"{memory.score.multiplier:.3f} at recall; used {count(memory.record.uses, 'time')}, rated "
        f"{count(memory.record.valuations, 'time')}, {memory.record.useful} of them useful"
        for memory in answer.memories
    ]
    lines = lines or ["Nothing was used or rated yet."]
    return lines + ([f"{answer.more} more."] if answer.more else [])
