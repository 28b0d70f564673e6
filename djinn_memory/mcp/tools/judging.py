"""The tools that tell djinn how well it served: ratings, and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.handmade import HandTool
from djinn_memory.memories.recall.rating import RatingResult
from djinn_memory.memories.recall.scores import MemoryScore
from djinn_memory.models import Problem
from djinn_memory.operations import OPERATIONS

Item = Annotated[int, Meta(ge=1, le=1000)] | Annotated[str, Meta(min_length=1, max_length=300)]
Items = Annotated[list[Item], Meta(max_length=100)]
Sentence = Annotated[str, Meta(min_length=1, max_length=2000)]


class RateArguments(Struct, forbid_unknown_fields=True):
    """Say which recalled memories helped, so that the next recall knows.

    Use it after you worked with what `recall` gave: by rank, useful and not useful; name only what
    you can judge. With `gap` say what you looked for in vain. Without ranks, rate memories by id
    with `request` left out. Not for correcting a memory: `remember` with existing=revise.
    Example: {"request": "last", "useful": [1, 3], "not_useful": [2], "gap": "why we left MySQL"}
    """

    request: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(description="The request_id of a recall, or last; left out, memories are named."),
    ] = None
    useful: Annotated[Items, Meta(description="Ranks, or ids, of what helped.")] = []
    not_useful: Annotated[Items, Meta(description="Ranks, or ids, of what did not.")] = []
    gap: Annotated[
        Sentence | None, Meta(description="What was missing, in a sentence that stands by itself.")
    ] = None
    gap_query: Annotated[Sentence | None, Meta(description="What you asked for it.")] = None


def rate(context: ClientContext, asked: RateArguments) -> RatingResult:
    """As `djinn rate`."""
    ranks = any(isinstance(one, int) for one in (*asked.useful, *asked.not_useful))
    return context.djinn.rate(
        asked.request or ("last" if ranks else None),
        useful=tuple(asked.useful),
        not_useful=tuple(asked.not_useful),
        gap=asked.gap,
        gap_query=asked.gap_query,
        agent=context.agent,
        session=context.session,
    )


def rate_text(rated: RatingResult) -> str:
    """A line for each."""
    lines = [
        f"- {'useful' if one.useful else 'not useful'}: {one.title} [{one.memory}]"
        for one in rated.judged
    ]
    lines += [f"Noted as missing: {rated.gap_id}"] if rated.gap_id else []
    return "\n".join(["Thank you.", *lines])


class ScoreArguments(Struct, forbid_unknown_fields=True):
    """Show how use and ratings have moved memories up or down in `recall`, with every number.

    Use it when a recall put something first or last that surprises you, or to see which memories
    help most. Not for finding something: use `recall` or `search`. Looking changes nothing; to
    change a score, `rate`.
    Example: {"name": "Project: MyApp"}
    """

    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)] | None,
        Meta(
            description="An id (mem_...), `vault:path`, a path, a title or an alias; left out, all "
            "that were used or rated, the last first."
        ),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 20


class ScoreAnswer(Struct):
    """Memories with what is behind their places."""

    memories: Sequence[MemoryScore]
    more: int
    """Those beyond the limit."""
    problems: Sequence[Problem] = ()


def score(context: ClientContext, asked: ScoreArguments) -> ScoreAnswer:
    """As `djinn score show`."""
    djinn = context.djinn
    found = djinn.scores.show(asked.name, agent=context.agent).scores
    shown = found[: asked.limit]
    return ScoreAnswer(shown, len(found) - len(shown), list(djinn.problems))


def score_text(scores: ScoreAnswer) -> str:
    """A line for each."""
    lines = [
        f"- {one.title} [{one.vault}:{one.path}]: {one.score.adaptive:.3f}, x"
        f"{one.score.multiplier:.3f} at recall; used {one.record.uses} times, rated "
        f"{one.record.valuations} times, {one.record.useful} of them useful"
        for one in scores.memories
    ]
    lines = lines or ["Nothing was used or rated yet."]
    lines += [f"{scores.more} more."] if scores.more else []
    return "\n".join([*lines, *problem_lines(scores.problems)])


TOOLS = (
    HandTool(
        "rate",
        "Rate what was recalled",
        RateArguments,
        RatingResult,
        rate,
        rate_text,
        writes=True,
        by_action={"": OPERATIONS["rate"]},
    ),
    HandTool(
        "score", "Why a memory ranks as it does", ScoreArguments, ScoreAnswer, score, score_text
    ),
)
