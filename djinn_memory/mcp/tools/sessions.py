"""The tools of a session: its start, its context, its checkpoints, its end, the summary."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from djinn_memory.mcp.answers import Answer
from djinn_memory.mcp.tool import Argument, number, optional_text, required_text, tool
from djinn_memory.mcp.tools.writing import saved_lines
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.briefing.requests import ContextBundle, WakeContext
from djinn_memory.memories.catalog.requests import MIN_BUDGET
from djinn_memory.memories.sessions.requests import NarrativeSummary
from djinn_memory.memories.writing.remember import RememberResult
from djinn_memory.models import extended
from djinn_memory.operations.caller import Caller

_LONGEST = 20_000
"""Maximum characters of a text."""

_Text = Annotated[str, Meta(max_length=_LONGEST)]


def _begin(caller: Caller, result: WakeContext) -> None:
    caller.session = result.session


def _end(caller: Caller, _: object) -> None:
    caller.session = None


def _points(description: str) -> Argument:
    return Argument(Annotated[list[_Text], Meta(max_length=100, description=description)], ())


@tool(
    "wake",
    separator="\n\n",
    finish=_begin,
    without=frozenset({"session", "domains"}),
    arguments={
        "task": optional_text(2000, "What the session is about."),
        "budget": number(MIN_BUDGET, 50_000, "In tokens. Default: 2000."),
    },
)
def wake(answer: WakeContext) -> list[str]:
    """Start a session and read its context: profile, summary, last handoff, open commitments,
    projects, preferences, the previous conversation, and memories about the task.

    Use it once, before anything else. Not later in a session: use `recall`.
    """
    return [markdown(answer)]


@tool(
    "checkpoint",
    arguments={
        "text": required_text(_LONGEST, "What you are working on."),
        "focus": optional_text(_LONGEST),
        "decisions": _points("Since the last checkpoint."),
    },
)
def checkpoint(answer: RememberResult) -> list[str]:
    """Save the state of the work, which the next `wake` shows if the session is interrupted.

    Use it at a stopping point, or before something risky. Not for lasting knowledge (`remember`),
    and not at the end (`sleep`).
    """
    return saved_lines(answer)


@tool(
    "sleep",
    finish=_end,
    arguments={
        "summary": required_text(_LONGEST, "What was done, and how it stands."),
        "next": _points("What to do next, in order."),
        "blocked": _points("What is blocked, and by what."),
    },
)
def sleep(answer: RememberResult) -> list[str]:
    """End the session with a handoff, which the next `wake` shows first.

    Use it once, when the work is done or interrupted; `remember` lasting knowledge first. Not in
    between: use `checkpoint`.
    """
    return saved_lines(answer)


class _SummaryAnswer(Answer):
    """The current summary."""

    summary: NarrativeSummary
    done: str = ""
    """The action: created, revised or unchanged."""
    previous: str | None = None
    """The path of the previous version, relative to the folder of the vault."""


def _present_context(result: Any, arguments: Any) -> ContextBundle | _SummaryAnswer:
    if arguments.action == "task":
        bundle: ContextBundle = result
        return bundle
    if arguments.action == "summary":
        return _SummaryAnswer(result)
    return extended(result, _SummaryAnswer, done=result.action)


@tool(
    "context",
    others={
        "task": "context",
        "summary": "summary.show",
        "set_summary": "summary.set",
        "build_summary": "summary.build",
    },
    default="task",
    present=_present_context,
    separator="\n\n",
    without=frozenset({"domains", "hops"}),
    hints={"force": "Even over what a person wrote."},
    arguments={
        "task": optional_text(2000, "The task or message."),
        "budget": number(MIN_BUDGET, 50_000, "In tokens. Default: 4000."),
        "limit_per_type": number(1, 50),
        "text": optional_text(20_000, "The whole summary, in Markdown.", least=1),
    },
)
def context(answer: Any) -> list[str]:
    """Collect episodes, patterns, entities and documents for a task, and what is due or open.

    Use it for a new task or message. summary shows the summary of your person, with which `wake`
    begins; set_summary replaces its text, build_summary makes one from facts and projects. Not for
    a single question: use `recall`.
    {required}
    """
    if isinstance(answer, ContextBundle):
        return [markdown(answer).rstrip()]
    summary = answer.summary
    done = f"{answer.done}: " if answer.done else ""
    before = f" (before: {answer.previous})" if answer.previous else ""
    head = f"{done}{summary.vault}/{summary.path}, by {summary.by}{before}"
    return [head, summary.text]
