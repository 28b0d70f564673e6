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
    "Begin a session",
    "wake",
    separator="\n\n",
    finish=_begin,
    without=frozenset({"session", "domains"}),
    arguments={
        "task": optional_text(2000, "What the session is about."),
        "budget": number(MIN_BUDGET, 50_000, "Maximum tokens of text. Default: 2000."),
    },
)
def wake(answer: WakeContext) -> list[str]:
    """Start a session and read its context.

    It has your profile, the summary, the last handoff, open commitments, projects, preferences,
    and memories about the task.

    Use it once, before anything else. Not later in a session: use `recall`.
    Example: {"task": "fix the login of MyApp"}
    """
    return [markdown(answer)]


@tool(
    "Save a checkpoint",
    "checkpoint",
    arguments={
        "text": required_text(_LONGEST, "What you are working on."),
        "focus": optional_text(_LONGEST, "Your current focus."),
        "decisions": _points("Decisions since the last checkpoint."),
    },
)
def checkpoint(answer: RememberResult) -> list[str]:
    """Save the state of the work. If the session is interrupted, the next `wake` shows it.

    Use it at a stopping point of long work, or before something risky. Not for knowledge that
    outlives the task (`remember`), and not at the end (`sleep`).
    Example: {"text": "login: two tests fail", "decisions": ["keep the cookie name"]}
    """
    return saved_lines(answer)


@tool(
    "End a session",
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

    Use it once, when the work is done or interrupted. First `remember` lasting
    knowledge. Not in between: use `checkpoint`.
    Example: {"summary": "login works", "next": ["write the docs"], "blocked": ["certificate"]}
    """
    return saved_lines(answer)


@tool(
    "Context of a task",
    "context",
    separator="\n\n",
    without=frozenset({"domains"}),
    arguments={
        "task": optional_text(2000, "The task or message."),
        "budget": number(MIN_BUDGET, 50_000, "Maximum tokens of text. Default: 4000."),
        "limit_per_type": number(1, 50),
    },
)
def build_context(answer: ContextBundle) -> list[str]:
    """Collect episodes, patterns, entities and documents for a task, best first with sources.

    Use it for a new task or message. It suggests commitments, gaps and patterns too.
    Not for a single question: use `recall`.
    Example: {"task": "plan the launch of MyApp"}
    """
    return [markdown(answer).rstrip()]


class _SummaryAnswer(Answer):
    """The current summary."""

    summary: NarrativeSummary
    done: str = ""
    """The action: created, revised or unchanged."""
    previous: str | None = None
    """The path of the previous version, relative to the folder of the vault."""


def _present_summary(result: Any, arguments: Any) -> _SummaryAnswer:
    if arguments.action == "show":
        return _SummaryAnswer(result)
    return extended(result, _SummaryAnswer, done=result.action)


@tool(
    "The summary",
    "summary",
    actions=("show", "set", "build"),
    present=_present_summary,
    hints={"force": "Replace even what a person wrote."},
    separator="\n\n",
    arguments={
        "text": optional_text(20_000, "The whole summary, in Markdown.", least=1),
    },
)
def summary(answer: _SummaryAnswer) -> list[str]:
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
