"""The tools of a session: its beginning, its checkpoints, its end."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.handmade import HandTool
from djinn_memory.mcp.tools.remember import remember_text
from djinn_memory.memories.sessions.context_markdown import markdown
from djinn_memory.memories.sessions.requests import MIN_BUDGET, WakeContext
from djinn_memory.memories.writing.remember import RememberResult
from djinn_memory.operations import OPERATIONS

Text = Annotated[str, Meta(max_length=20_000)]
Points = Annotated[list[Text], Meta(max_length=100)]


class WakeArguments(Struct, forbid_unknown_fields=True):
    """Begin a session: who you are, where the last one stopped, what is due, what holds.

    Use it once, first of all, with the task if you know it. If the session before was never ended,
    it gives its last checkpoint. Not in the middle of a session: use `recall`.
    Example: {"task": "fix the login of MyApp", "budget": 2000}
    """

    task: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        Meta(description="What this session is about, in a sentence."),
    ] = None
    budget: Annotated[
        int, Meta(ge=MIN_BUDGET, le=50_000, description="Tokens that the answer may have.")
    ] = 2000


def wake(context: ClientContext, asked: WakeArguments) -> WakeContext:
    """As `djinn wake`."""
    djinn = context.djinn
    awake = djinn.wake(agent=context.agent, task=asked.task, budget=asked.budget)
    context.session = awake.session
    return awake


def wake_text(awake: WakeContext) -> str:
    """The context as Markdown."""
    return "\n\n".join([markdown(awake), *problem_lines(awake.problems)])


class CheckpointArguments(Struct, forbid_unknown_fields=True):
    """Write down where the work stands, so that it is not lost if this session breaks off.

    Use it at a good stopping point of long work, or before something risky. Not for knowledge that
    outlives the task: `remember` that. Not at the end: use `sleep`.
    Example: {"text": "login: tests written, two fail", "focus": "token refresh",
    "decisions": ["keep the old cookie name"]}
    """

    text: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What you are working on.")
    ]
    focus: Annotated[Text | None, Meta(description="What has your attention just now.")] = None
    decisions: Annotated[Points, Meta(description="What was decided since the last one.")] = []


def checkpoint(context: ClientContext, asked: CheckpointArguments) -> RememberResult:
    """As `djinn checkpoint`."""
    return context.djinn.checkpoint(
        asked.text,
        agent=context.agent,
        focus=asked.focus,
        decisions=asked.decisions,
        session=context.session,
    )


class SleepArguments(Struct, forbid_unknown_fields=True):
    """End the session with a handoff note, with which the next `wake` begins.

    Use it once, when the work of this session is done or breaks off. First `remember` what should
    be known for longer: a handoff is about where to go on. Not in between: use `checkpoint`.
    Example: {"summary": "login works; refresh tokens rotate", "next": ["write the docs"],
    "blocked": ["deploy waits for the new certificate"]}
    """

    summary: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What was done, and how it stands.")
    ]
    next: Annotated[Points, Meta(description="What to do next, the first thing first.")] = []
    blocked: Annotated[Points, Meta(description="What waits for something, and for what.")] = []


def sleep(context: ClientContext, asked: SleepArguments) -> RememberResult:
    """As `djinn sleep`."""
    done = context.djinn.sleep(
        asked.summary,
        agent=context.agent,
        next=asked.next,
        blocked=asked.blocked,
        session=context.session,
    )
    context.session = None
    return done


WAKE = HandTool(
    "wake", "Begin a session", WakeArguments, WakeContext, wake, wake_text,
    by_action={"": OPERATIONS["wake"]},
)  # fmt: skip

TOOLS = (
    WAKE,
    HandTool(
        "checkpoint", "Mark where work stands", CheckpointArguments, RememberResult, checkpoint,
        remember_text, writes=True, by_action={"": OPERATIONS["checkpoint"]},
    ),
    HandTool(
        "sleep", "End a session", SleepArguments, RememberResult, sleep, remember_text, writes=True,
        by_action={"": OPERATIONS["sleep"]},
    ),
)  # fmt: skip
