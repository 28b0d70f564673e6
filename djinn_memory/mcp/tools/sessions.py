"""The tools of a session: its beginning, its checkpoints, its end."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from djinn_memory.mcp.arguments import Argument, number, optional_text, required_text
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.tool import tool
from djinn_memory.mcp.tools.remember import saved_lines
from djinn_memory.memories.sessions.context_markdown import markdown
from djinn_memory.memories.sessions.requests import MIN_BUDGET, WakeContext
from djinn_memory.memories.writing.remember import RememberResult

_LONGEST = 20_000
"""Characters of a text."""

_Text = Annotated[str, Meta(max_length=_LONGEST)]


def _begin(context: ClientContext, result: WakeContext) -> None:
    context.session = result.session


def _end(context: ClientContext, _: object) -> None:
    context.session = None


def _points(description: str) -> Argument:
    return Argument(Annotated[list[_Text], Meta(max_length=100, description=description)], ())


@tool(
    "Begin a session",
    "wake",
    separator="\n\n",
    finish=_begin,
    without=frozenset({"session"}),
    arguments={
        "task": optional_text(2000, "What this session is about, in a sentence."),
        "budget": number(MIN_BUDGET, 50_000, "Tokens of text at most.", 2000),
    },
)
def wake(answer: WakeContext) -> list[str]:
    """Use it once, first of all, with the task if you know it. If the session before was never
    ended, it gives its last checkpoint. Not in the middle of a session: use `recall`.
    Example: {"task": "fix the login of MyApp", "budget": 2000}
    """
    return [markdown(answer)]


@tool(
    "Mark where work stands",
    "checkpoint",
    arguments={
        "text": required_text(_LONGEST, "What you are working on."),
        "focus": optional_text(_LONGEST, "What has your attention just now."),
        "decisions": _points("What was decided since the last checkpoint."),
    },
)
def checkpoint(answer: RememberResult) -> list[str]:
    """Use it at a good stopping point of long work, or before something risky. Not for knowledge
    that outlives the task: `remember` that. Not at the end: use `sleep`.
    Example: {"text": "login: tests written, two fail", "focus": "token refresh", "decisions":
    ["keep the old cookie name"]}
    """
    return saved_lines(answer)


@tool(
    "End a session",
    "sleep",
    finish=_end,
    arguments={
        "summary": required_text(_LONGEST, "What was done, and how it stands."),
        "next": _points("What to do next, the first thing first."),
        "blocked": _points("What waits for something, and for what."),
    },
)
def sleep(answer: RememberResult) -> list[str]:
    """Use it once, when the work of this session is done or breaks off. First `remember` what
    should be known for longer: a handoff is about where to go on. Not in between: use `checkpoint`.
    Example: {"summary": "login works; refresh tokens rotate", "next": ["write the docs"],
    "blocked": ["deploy waits for the new certificate"]}
    """
    return saved_lines(answer)
