"""djinn summary show, set, build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import output
from djinn_memory.cli.command import Call, command, failed
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.sessions.requests import BuildSummary, SetSummary, ShowSummary

if TYPE_CHECKING:
    from djinn_memory.memories.sessions.requests import NarrativeSummary, SummaryChange


@command("summary.show", ShowSummary, examples=["djinn summary show"])
def show(call: Call, answer: NarrativeSummary) -> None:
    """Print the summary."""
    talk(output.dim(clean(f"{answer.vault}/{answer.path}, by {answer.by}")))
    say(output.clean_lines(answer.text))


@command(
    "summary.set",
    SetSummary,
    fields={"text": Field(stdin="text", help="The summary in Markdown; - reads it from stdin.")},
    failed=failed,
    examples=[
        'djinn summary set "Maren runs the harbour office."',
        "djinn summary set - < summary.md",
    ],
)
def set_summary(call: Call, answer: SummaryChange) -> None:
    """Write the summary; the previous one is kept."""
    _print_change(answer)


@command(
    "summary.build",
    BuildSummary,
    failed=failed,
    schemas={"summary.set": "summary.build"},
    examples=["djinn summary build"],
)
def build(call: Call, answer: SummaryChange) -> None:
    """Build the summary from facts, preferences, active projects and open commitments.

    The model of the setting `llm.model` writes it. Without that setting no model is asked.
    """
    _print_change(answer)


def _print_change(change: SummaryChange) -> None:
    previous = f" (before: {change.previous})" if change.previous else ""
    say(clean(f"{change.action} {change.summary.vault}/{change.summary.path}{previous}"))
