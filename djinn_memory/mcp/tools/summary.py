"""The tool for the narrative summary that `wake` puts first."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.errors import UsageError
from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.handmade import HandTool
from djinn_memory.memories.sessions.requests import NarrativeSummary
from djinn_memory.models import Problem
from djinn_memory.operations import OPERATIONS


class SummaryArguments(Struct, forbid_unknown_fields=True):
    """Show or write the summary of who you work for and on what, which `wake` puts first.

    Use it when a session showed that the summary is wrong or old: show it, then set (text) the
    whole of it anew; the version before is kept. build makes one from facts, preferences, active
    projects and open commitments, and replaces one that was written by hand only with `force`.
    Not for one thing that was learned: `remember` that, or set a `fact`. Not for handing over:
    `sleep`.
    Example: {"action": "set", "text": "Maren runs the harbour office and prefers short answers."}
    """

    action: Literal["show", "set", "build"]
    text: Annotated[
        Annotated[str, Meta(min_length=1, max_length=20_000)] | None,
        Meta(description="All that it shall say, in Markdown."),
    ] = None
    force: Annotated[
        bool, Meta(description="Build in the place of one that was written by hand, too.")
    ] = False


class SummaryAnswer(Struct):
    """The summary as it is now."""

    summary: NarrativeSummary
    done: str = ""
    """What became of it: created, revised, unchanged."""
    previous: str | None = None
    """Where the version before lies, relative to the folder of the vault."""
    problems: list[Problem] = []


def summary(context: ClientContext, asked: SummaryArguments) -> SummaryAnswer:
    """As `djinn summary`."""
    djinn = context.djinn
    verb, own = djinn.summary, context.agent
    if asked.action == "show":
        return SummaryAnswer(verb.show(agent=own), problems=list(djinn.problems))
    if asked.action == "build":
        made = verb.build(agent=own, force=asked.force)
    elif asked.text is None:
        raise UsageError("summary: set needs a text")
    else:
        made = verb.set(asked.text, agent=own)
    problems = list(dict.fromkeys([*djinn.problems, *made.problems]))
    return SummaryAnswer(made.summary, made.action, made.previous, problems)


def summary_text(answer: SummaryAnswer) -> str:
    """What it says, and where."""
    one = answer.summary
    done = f"{answer.done}: " if answer.done else ""
    before = f" (before: {answer.previous})" if answer.previous else ""
    head = f"{done}{one.vault}/{one.path}, by {one.by}{before}"
    return "\n\n".join([head, one.text, *problem_lines(answer.problems)])


TOOL = HandTool(
    "summary",
    "The summary",
    SummaryArguments,
    SummaryAnswer,
    summary,
    summary_text,
    writes=frozenset({"set", "build"}),
    by_action={verb: OPERATIONS[f"summary.{verb}"] for verb in ("show", "set", "build")},
    removes=True,
)
