"""djinn summary show, set, build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.sessions.requests import BuildSummary, SetSummary, ShowSummary

if TYPE_CHECKING:
    from djinn_memory.memories.sessions.requests import NarrativeSummary, SummaryChange


@command("summary.show", ShowSummary)
def show(call: Call, answer: NarrativeSummary) -> None:
    """Print the summary.

    Examples:
        djinn summary show
    """
    talk(output.dim(clean(f"{answer.vault}/{answer.path}, by {answer.by}")))
    say(output.clean_lines(answer.text))


@command(
    "summary.set",
    SetSummary,
    fields={"text": Field(stdin="text", help="The summary, in Markdown. `-` reads it from stdin.")},
)
def set_(call: Call, answer: SummaryChange) -> None:
    """Write the summary. The previous one is kept.

    Examples:
        djinn summary set "Maren runs the harbour office."
        djinn summary set - < summary.md
    """
    _print_change(answer)


@command("summary.build", BuildSummary, schemas={"summary.set": "summary.build"})
def build(call: Call, answer: SummaryChange) -> None:
    """Build the summary from facts, preferences, projects and open commitments.

    The model of the setting `llm.model` writes it. Without that setting no model is asked.

    Examples:
        djinn summary build
    """
    _print_change(answer)


def _print_change(change: SummaryChange) -> None:
    previous = f" (before: {change.previous})" if change.previous else ""
    say(clean(f"{change.action} {change.summary.vault}/{change.summary.path}{previous}"))
