"""The tools of a session: its beginning, its checkpoints, its end."""

from __future__ import annotations

from typing import Annotated

from msgspec import NODEFAULT, Meta

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.tool import Argument, Tool
from djinn_memory.mcp.tools.remember import remember_text
from djinn_memory.memories.sessions.context_markdown import markdown
from djinn_memory.memories.sessions.requests import MIN_BUDGET, WakeContext

_Text = Annotated[str, Meta(max_length=20_000)]


def _begin(context: ClientContext, result: WakeContext) -> None:
    context.session = result.session


def _end(context: ClientContext, _: object) -> None:
    context.session = None


def _wake_text(answer: WakeContext) -> str:
    return "\n\n".join([markdown(answer), *problem_lines(answer.problems)])


def _required(description: str) -> Argument:
    kind = Annotated[str, Meta(min_length=1, max_length=20_000, description=description)]
    return Argument(kind, NODEFAULT)


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
    text=_wake_text,
    finish=_begin,
    without=frozenset({"session"}),
    arguments={
        "task": Argument(
            Annotated[
                str, Meta(max_length=2000, description="What this session is about, in a sentence.")
            ]
            | None
        ),
        "budget": Argument(
            Annotated[int, Meta(ge=MIN_BUDGET, le=50_000, description="Tokens of text at most.")],
            2000,
        ),
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
            "text": _required("What you are working on."),
            "focus": Argument(
                Annotated[
                    str, Meta(max_length=20_000, description="What has your attention just now.")
                ]
                | None
            ),
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
            "summary": _required("What was done, and how it stands."),
            "next": _points("What to do next, the first thing first."),
            "blocked": _points("What waits for something, and for what."),
        },
    ),
)
