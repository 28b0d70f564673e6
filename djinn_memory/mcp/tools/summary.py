"""The tool for the narrative summary that `wake` puts first."""

from __future__ import annotations

from typing import Any

from djinn_memory.mcp.answers import Answer, project
from djinn_memory.mcp.arguments import optional_text
from djinn_memory.mcp.tool import Tool
from djinn_memory.memories.sessions.requests import NarrativeSummary


class SummaryAnswer(Answer):
    """The summary as it is now."""

    summary: NarrativeSummary
    done: str = ""
    """What was done: created, revised, unchanged."""
    previous: str | None = None
    """The file of the version before, relative to the folder of the vault."""


def _present(result: Any, arguments: Any) -> SummaryAnswer:
    if arguments.action == "show":
        return SummaryAnswer(result)
    return project(result, SummaryAnswer, done=result.action)


def _text(answer: SummaryAnswer) -> list[str]:
    summary = answer.summary
    done = f"{answer.done}: " if answer.done else ""
    before = f" (before: {answer.previous})" if answer.previous else ""
    head = f"{done}{summary.vault}/{summary.path}, by {summary.by}{before}"
    return [head, summary.text]


TOOL = Tool(
    name="summary",
    title="The summary",
    operations={"show": "summary.show", "set": "summary.set", "build": "summary.build"},
    guidance="""\
Show or write the summary of who you work for and on what, which `wake` puts first.

Use it when a session showed that the summary is wrong or old: show it, then set the whole of it \
anew; the version before is kept. Not for one thing that was learned: `remember` that, or set a \
`fact`. Not for handing over: `sleep`.
{actions}
Example: {"action": "set", "text": "Maren runs the harbour office and prefers short answers."}""",
    answer=SummaryAnswer,
    present=_present,
    text=_text,
    separator="\n\n",
    arguments={
        "text": optional_text(20_000, "All that the summary shall say, in Markdown.", least=1),
    },
)
