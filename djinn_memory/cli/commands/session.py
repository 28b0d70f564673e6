"""djinn wake, checkpoint, sleep: the start, progress and end of an agent's session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean_lines, say
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.sessions.requests import Checkpoint, Handoff, WakeOptions

if TYPE_CHECKING:
    from djinn_memory.memories.sessions.requests import WakeContext
    from djinn_memory.memories.writing.remember import RememberResult


@command("wake", WakeOptions, fields={"task": Field("TEXT")})
def wake(call: Call, answer: WakeContext) -> None:
    """Start a session and print its context.

    The context has the summary, the profile of the agent, the last handoff and checkpoint, open
    commitments, active projects, preferences, and what a recall of the task returns. A session that
    was not ended with `djinn sleep` is reported with its last checkpoint.

    Examples:
        djinn wake
        djinn wake --task "mend the login" --budget 3000
        djinn wake --agent finn --json
    """
    from djinn_memory.memories.sessions.context_markdown import markdown

    say(clean_lines(markdown(answer)).rstrip())


@command(
    "checkpoint",
    Checkpoint,
    fields={
        "text": Field(
            stdin="text", help="The state of the work, in Markdown. `-` reads it from stdin."
        ),
        "decisions": Field(name="--decision", help="A decision that was made; repeatable."),
    },
)
def checkpoint(call: Call, answer: RememberResult) -> None:
    """Save the state of the work as a note.

    Each checkpoint is a separate note. If the session is interrupted, the next `djinn wake` begins
    with the last one.

    Examples:
        djinn checkpoint "working on the parser"
        djinn checkpoint "half of the tests pass" --focus "error messages" --decision "keep the old
            format"
    """
    say(f"{answer.id}  {answer.vault}/{answer.path}")


@command(
    "sleep",
    Handoff,
    fields={
        "summary": Field(
            "TEXT", stdin="text", help="What was done, in Markdown. `-` reads it from stdin."
        ),
        "next": Field(help="A next step; repeatable."),
        "blocked": Field(help="A blocked task and what blocks it; repeatable."),
    },
)
def sleep(call: Call, answer: RememberResult) -> None:
    """End the session with a handoff for the next `djinn wake`.

    Examples:
        djinn sleep --summary "The parser is done." --next "write its manual" --blocked "the
            licence is not decided"
    """
    say(f"{answer.id}  {answer.vault}/{answer.path}")
