"""The tool for the narrative summary that `wake` puts first."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.tool import Argument, Tool
from djinn_memory.memories.sessions.requests import NarrativeSummary
from djinn_memory.models import Problem


class SummaryAnswer(Struct):
    """The summary as it is now."""

    summary: NarrativeSummary
    done: str = ""
    """What was done: created, revised, unchanged."""
    previous: str | None = None
    """The file of the version before, relative to the folder of the vault."""
    problems: list[Problem] = []


def _present(result: Any, arguments: Any) -> SummaryAnswer:
    if arguments.action == "show":
        return SummaryAnswer(result)
    return SummaryAnswer(result.summary, result.action, result.previous, result.problems)


def _text(answer: SummaryAnswer) -> str:
    summary = answer.summary
    done = f"{answer.done}: " if answer.done else ""
    before = f" (before: {answer.previous})" if answer.previous else ""
    head = f"{done}{summary.vault}/{summary.path}, by {summary.by}{before}"
    return "\n\n".join([head, summary.text, *problem_lines(answer.problems)])


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
    arguments={
        "text": Argument(
            Annotated[
                str,
                Meta(
                    min_length=1,
                    max_length=20_000,
                    description="All that the summary shall say, in Markdown.",
                ),
            ]
            | None
        ),
    },
)
