"""The tool for the narrative summary with which `wake` begins."""

from __future__ import annotations

from typing import Any

from djinn_memory.mcp.answers import Answer, project
from djinn_memory.mcp.tool import optional_text, tool
from djinn_memory.memories.sessions.requests import NarrativeSummary


class SummaryAnswer(Answer):
    """The current summary."""

    summary: NarrativeSummary
    done: str = ""
    """The action: created, revised or unchanged."""
    previous: str | None = None
    """The path of the previous version, relative to the folder of the vault."""


def _present(result: Any, arguments: Any) -> SummaryAnswer:
    if arguments.action == "show":
        return SummaryAnswer(result)
    return project(result, SummaryAnswer, done=result.action)


@tool(
    "The summary",
    "summary",
    actions=("show", "set", "build"),
    present=_present,
    hints={"force": "Replace even what a person wrote."},
    separator="\n\n",
    arguments={
        "text": optional_text(20_000, "The whole summary, in Markdown.", least=1),
    },
)
def summary(answer: SummaryAnswer) -> list[str]:
    """Show or write the summary of your person and their work, with which `wake` begins.

    Use it when the summary is wrong or old: show it, then set the whole text again; build makes one
    from facts and projects. The previous version is kept. Not for single memories (`remember`,
    `fact`), nor for handing over (`sleep`).
    {actions}
    Example: {"action": "set", "text": "Maren runs the harbour office."}
    """
    summary = answer.summary
    done = f"{answer.done}: " if answer.done else ""
    before = f" (before: {answer.previous})" if answer.previous else ""
    head = f"{done}{summary.vault}/{summary.path}, by {summary.by}{before}"
    return [head, summary.text]
