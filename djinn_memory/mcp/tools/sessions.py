"""The tools of a session: its beginning, its checkpoints, its end."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from djinn_memory.mcp.arguments import Argument, number, optional_text, required_text
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools.remember import remember_text
from djinn_memory.memories.sessions.context_markdown import markdown
from djinn_memory.memories.sessions.requests import MIN_BUDGET, WakeContext

_LONGEST = 20_000
"""Characters of a text."""

_Text = Annotated[str, Meta(max_length=_LONGEST)]


def _begin(context: ClientContext, result: WakeContext) -> None:
    context.session = result.session


def _end(context: ClientContext, _: object) -> None:
    context.session = None


def _points(description: str) -> Argument:
    return Argument(Annotated[list[_Text], Meta(max_length=100, description=description)], ())


WAKE = Tool(
    name="wake",
    title="Begin a session",
    operations="wake",
    guidance="""\
Use it once, first of all, with the task if you know it. If the session before was never ended, \
it gives its last checkpoint. Not in the middle of a session: use `recall`.
Example: {"task": "fix the login of MyApp", "budget": 2000}""",
    text=lambda answer: [markdown(answer)],
    separator="\n\n",
    finish=_begin,
    without=frozenset({"session"}),
    arguments={
        "task": optional_text(2000, "What this session is about, in a sentence."),
        "budget": number(MIN_BUDGET, 50_000, "Tokens of text at most.", 2000),
    },
)

TOOLS = (
    WAKE,
    Tool(
        name="checkpoint",
        title="Mark where work stands",
        operations="checkpoint",
        guidance="""\
Use it at a good stopping point of long work, or before something risky. Not for knowledge that \
outlives the task: `remember` that. Not at the end: use `sleep`.
Example: {"text": "login: tests written, two fail", "focus": "token refresh",
"decisions": ["keep the old cookie name"]}""",
        text=remember_text,
        arguments={
            "text": required_text(_LONGEST, "What you are working on."),
            "focus": optional_text(_LONGEST, "What has your attention just now."),
            "decisions": _points("What was decided since the last checkpoint."),
        },
    ),
    Tool(
        name="sleep",
        title="End a session",
        operations="sleep",
        guidance="""\
Use it once, when the work of this session is done or breaks off. First `remember` what should \
be known for longer: a handoff is about where to go on. Not in between: use `checkpoint`.
Example: {"summary": "login works; refresh tokens rotate", "next": ["write the docs"],
"blocked": ["deploy waits for the new certificate"]}""",
        text=remember_text,
        finish=_end,
        arguments={
            "summary": required_text(_LONGEST, "What was done, and how it stands."),
            "next": _points("What to do next, the first thing first."),
            "blocked": _points("What waits for something, and for what."),
        },
    ),
)
