"""The tool for gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from djinn_memory.mcp.answers import Answer, project
from djinn_memory.mcp.tool import tool
from djinn_memory.memories.proposals.gaps import GapGroup, GapSuggestion
from djinn_memory.notes.dates import local_day
from djinn_memory.store.ledger.reading import Gap


class GapAnswer(Answer, kw_only=True):
    """The gaps that the action returns or changes."""

    reported: str | None = None
    """The id of the gap that was reported."""
    groups: Sequence[GapGroup] = ()
    """Open gaps, grouped by topic."""
    closed: Gap | None = None
    suggestions: Sequence[GapSuggestion] = ()


def _present(result: Any, _: object) -> GapAnswer:
    reported, closed = getattr(result, "gap_id", None), getattr(result, "gap", None)
    return project(result, GapAnswer, reported=reported, closed=closed)


@tool(
    "Report missing information",
    "gaps",
    actions=("report", "list", "close", "suggest"),
    present=_present,
    without=frozenset({"closed", "close"}),
    hints={
        "description": "What was missing, in one self-contained sentence.",
        "gap": "The id of the gap.",
        "by": "The note that answers it.",
    },
)
def gap(answer: GapAnswer) -> list[str]:
    """Track information that is missing from memory.

    Use it when a search found no answer. When you learn the answer, `remember` it and close
    the gap; suggest finds notes that may answer. Not for things to do: `remember` a commitment.
    {actions}
    Example: {"action": "report", "description": "who runs the staging server"}
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
