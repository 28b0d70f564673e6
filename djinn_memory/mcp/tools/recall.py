"""The tools for recalls: recall, rate, gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import Answer, MemoryPlace, headline
from djinn_memory.mcp.tool import OTHER_NARROWING, Argument, number, required_text, tool
from djinn_memory.memories.proposals.gaps import GapGroup, GapSuggestion
from djinn_memory.memories.recall.rating import RatingResult
from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult
from djinn_memory.models import Known, extended, path_of_links
from djinn_memory.notes.dates import local_day
from djinn_memory.store.ledger.reading import Gap
from djinn_memory.system.plural import count


class _RecallAnswerMemory(MemoryPlace):
    """A memory."""

    rank: int
    """The rank, as `rate` accepts it."""
    score: float
    why: str
    text: str
    cut: bool
    """Whether the text is a part of the memory. `read` returns all of it."""


class _RecallCommunity(Struct):
    """Linked notes around the recalled memories."""

    size: int
    central: list[str]
    """Titles of its most central notes."""
    summary: list[str]
    ranks: Sequence[int]
    """The memories of this recall in it."""


class _RecallAnswer(Answer):
    """The recalled memories, best first."""

    request_id: str | None
    """The id that `rate` accepts; null if the recall could not be logged."""
    profile: str
    memories: list[_RecallAnswerMemory]
    confident: bool
    """Whether the verdict is sure. Else `memories` has at most the three closest."""
    more: int
    """The number of memories that did not fit into the budget."""
    suggestions: Sequence[str] = ()
    verdict: Known = "nothing"
    """Whether a memory is likely to help (sure), may help (weak: excerpts), is only near (titles),
    or none is."""
    communities: Sequence[_RecallCommunity] = ()


def _present_recall(result: RecallResult, _: object) -> _RecallAnswer:
    memories = [
        extended(memory, _RecallAnswerMemory, why=_why(memory)) for memory in result.memories
    ]
    communities = [
        extended(
            community,
            _RecallCommunity,
            central=[memory.title for memory in community.central],
            summary=community.sentences,
        )
        for community in result.communities
    ]
    return extended(result, _RecallAnswer, memories=memories, communities=communities)


def _why(memory: RecalledMemory) -> str:
    if memory.age and memory.age > 0:
        reasons = [f"{count(memory.age, 'day')} old"]
    else:
        reasons = ["undated" if memory.age is None else "to come" if memory.age else "of today"]
    if memory.why.words:
        reasons.append(f"says {', '.join(memory.why.words[:6])}")
    reasons += [path_of_links(memory.via)] if memory.via else []
    reasons += [f"{name} {leg.part:.2f}" for name, leg in memory.why.legs.items()]
    return ", ".join(reasons)


@tool(
    "recall",
    present=_present_recall,
    separator="\n\n",
    without=OTHER_NARROWING,
    hints={"wide": "For a subject: with summaries of linked notes.", "hops": "Links to follow."},
    arguments={
        "query": required_text(2000, "What you will do or want to know; domain:x filters."),
        "limit": number(1, 50),
        "budget": number(50, 50_000, "In tokens."),
    },
)
def recall(answer: _RecallAnswer) -> list[str]:
    """Recall memories that help with a question.

    Use it before you begin work, decide something or answer from memory; then `rate` the result.
    Profiles: planning (decisions, plans, commitments), incident (lessons, recent changes), handoff
    (the last days). Not for a passage: use `search`.
    """
    parts = [
        f"{count(community.size, 'note')} around {', '.join(community.central)}: "
        f"{' '.join(community.summary)}"
        for community in answer.communities
    ]
    if not answer.memories:
        parts.append("No memory matches.")
        if answer.suggestions:
            parts.append(f"Did you mean: {', '.join(answer.suggestions)}?")
    elif not answer.confident:
        parts.append("No confident match. Closest, to `read`:")
    for memory in answer.memories:
        if not memory.text:
            parts.append(f"{memory.rank}. {headline(memory)}")
            continue
        cut = "\n(cut: `read` it for all)" if memory.cut else ""
        head = f"## {memory.rank}. {headline(memory)}"
        parts.append(f"{head}\n{memory.why}\n\n{memory.text}{cut}")
    if answer.more:
        parts.append(f"{answer.more} more did not fit into the budget.")
    if answer.request_id:
        parts.append(
            f"Rate it: rate(target={answer.request_id!r}, useful=[ranks], not_useful=[ranks])"
        )
    return parts


_Memory = Annotated[int, Meta(ge=1, le=1000)] | Annotated[str, Meta(min_length=1, max_length=300)]


def _memories(description: str) -> Argument:
    return Argument(Annotated[Sequence[_Memory], Meta(max_length=100, description=description)], ())


@tool(
    "rate",
    hints={
        "target": "`last`, or the request_id of a recall; without it, ids of any memory.",
        "gap": "What was missing, in one sentence.",
        "gap_query": "The query that missed it.",
    },
    arguments={
        "useful": _memories("Ranks or ids that helped."),
        "not_useful": _memories("Ranks or ids that did not help."),
    },
)
def rate(result: RatingResult) -> list[str]:
    """Rate which memories of a recall helped, so that they rank higher next time.

    Use it after you used a `recall`; rate only what you can judge. Not for correcting a memory:
    `remember` with existing=revise.
    Example: {"target": "last", "useful": [1, 3], "gap": "why we left MySQL"}
    """
    lines = [
        f"- {'useful' if memory.useful else 'not useful'}: {memory.title} [{memory.memory}]"
        for memory in result.judged
    ]
    lines += [f"Noted as missing: {result.gap_id}"] if result.gap_id else []
    return ["Thank you.", *lines]


class _GapAnswer(Answer, kw_only=True):
    """The gaps that the action returns or changes."""

    reported: str | None = None
    """The id of the gap that was reported."""
    groups: Sequence[GapGroup] = ()
    """Open gaps, grouped by topic."""
    closed: Gap | None = None
    suggestions: Sequence[GapSuggestion] = ()


def _present_gaps(result: Any, _: object) -> _GapAnswer:
    reported, closed = getattr(result, "gap_id", None), getattr(result, "gap", None)
    return extended(result, _GapAnswer, reported=reported, closed=closed)


@tool(
    "gaps",
    actions=("report", "list", "close", "suggest"),
    present=_present_gaps,
    without=frozenset({"closed", "close"}),
    hints={
        "description": "What was missing, in one sentence.",
        "query": "The query that found no answer.",
        "gap": "Its id.",
        "by": "The note that answers it.",
    },
)
def gap(answer: _GapAnswer) -> list[str]:
    """Track information that is missing from memory.

    Use it when a search found no answer. When you learn it, `remember` it and close the gap;
    suggest finds notes that may answer. Not for things to do: `remember` a commitment.
    {required}
    """
    lines = [f"Reported as {answer.reported}."] if answer.reported else []
    lines += [f"Closed: {answer.closed.description}"] if answer.closed else []
    lines += [
        f"- {gap.description} [{gap.id}], since {local_day(gap.created)}"
        for group in answer.groups
        for gap in group.gaps
    ]
    lines += [
        f"- {suggestion.gap.description} [{suggestion.gap.id}] may be answered by "
        f"{suggestion.title} [{suggestion.memory}]"
        for suggestion in answer.suggestions
    ]
    return lines or ["Nothing found."]
