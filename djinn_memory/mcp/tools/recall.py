"""The tool that recalls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import MemoryPlace, headline, problem_lines
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.handmade import HandTool
from djinn_memory.mcp.narrowing import Since, Tags, Types, Until, Vaults, narrowing
from djinn_memory.memories.recall.recall import RecalledMemory
from djinn_memory.models import Problem
from djinn_memory.system.plural import count


class RecallArguments(Struct, forbid_unknown_fields=True):
    """Recall whole memories that help with what you are about to do, best first.

    Use it before you begin a piece of work, decide something or answer from memory. What proved
    useful comes earlier, so `rate` afterwards which memories helped. Profiles change what comes:
    planning (decisions, plans, commitments, projects), incident (lessons, errors, recent changes),
    handoff (handoffs, checkpoints, the last days). Narrow it by type, tag, vault or day only when
    you are sure: what is left out cannot help. Not for looking up a passage: use `search`.
    Example: {"query": "database of MyApp", "profile": "planning"}
    """

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            description="What you are about to do or want to know, as a question or words.",
        ),
    ]
    profile: Annotated[
        Annotated[str, Meta(max_length=64)] | None,
        Meta(
            description="default, planning, incident, handoff, auto (chosen by the query), or one "
            "of the settings.",
        ),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=50)] | None, Meta(description="How many memories at most.")
    ] = None
    budget: Annotated[
        Annotated[int, Meta(ge=50, le=50_000)] | None,
        Meta(description="Tokens that they may have together."),
    ] = None
    types: Types = []
    tags: Tags = []
    vaults: Vaults = []
    since: Since = ""
    until: Until = ""


class RecallAnswerMemory(MemoryPlace):
    """A whole memory."""

    rank: int
    """What `rate` takes."""
    score: float
    why: str
    text: str
    cut: bool
    """Whether the text was cut at the budget: `read` gives all of it."""


class RecallAnswer(Struct):
    """What was recalled, the best first."""

    request_id: str | None
    """What `rate` takes; null where this recall could not be logged."""
    profile: str
    memories: list[RecallAnswerMemory]
    confident: bool
    """False when nothing found is likely to be what was asked for."""
    more: int
    """Memories that did not fit into the budget."""
    suggestions: Sequence[str] = ()
    problems: Sequence[Problem] = ()


def recall(context: ClientContext, asked: RecallArguments) -> RecallAnswer:
    """As `djinn recall`."""
    found = context.djinn.recall(
        asked.query,
        agent=context.agent,
        profile=asked.profile,
        limit=asked.limit,
        budget=asked.budget,
        session=context.session,
        **narrowing(asked),
    )
    return RecallAnswer(
        found.request_id,
        found.profile,
        [_memory(one) for one in found.memories],
        found.confident,
        found.more,
        found.suggestions,
        found.problems,
    )


def recall_text(found: RecallAnswer) -> str:
    """The memories, numbered as `rate` takes them."""
    parts = []
    if not found.memories:
        parts.append("Nothing is known about that.")
    elif not found.confident:
        parts.append("Nothing surely answers; the nearest:")
    if found.suggestions and not found.memories:
        parts.append(f"Did you mean: {', '.join(found.suggestions)}?")
    for one in found.memories:
        cut = "\n(cut: `read` it for all)" if one.cut else ""
        parts.append(f"## {one.rank}. {headline(one)}\n{one.why}\n\n{one.text}{cut}")
    if found.more:
        parts.append(f"{found.more} more did not fit into the budget.")
    if found.request_id:
        parts.append(
            f"Rate it: rate(request={found.request_id!r}, useful=[ranks], not_useful=[ranks])"
        )
    return "\n\n".join([*parts, *problem_lines(found.problems)])


def _memory(one: RecalledMemory) -> RecallAnswerMemory:
    return RecallAnswerMemory(
        id=one.id,
        type=one.type,
        title=one.title,
        vault=one.vault,
        path=one.path,
        date=one.date,
        tags=one.tags,
        rank=one.rank,
        score=one.score,
        why=_why(one),
        text=one.text,
        cut=one.cut,
    )


def _why(one: RecalledMemory) -> str:
    said = (
        [f"{count(one.age, 'day')} old"]
        if one.age > 0
        else ["of today" if not one.age else "to come"]
    )
    if one.why.words:
        said.append(f"says {', '.join(one.why.words[:6])}")
    said += [f"{name} {leg.part:.2f}" for name, leg in one.why.legs.items()]
    return ", ".join(said)


TOOL = HandTool("recall", "Recall memories", RecallArguments, RecallAnswer, recall, recall_text)
