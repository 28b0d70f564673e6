"""djinn wake, checkpoint, sleep: how an agent's session begins, goes on and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean_lines, say

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.memories.writing.remember import RememberResult

Session = Annotated[
    str | None,
    typer.Option("--session", metavar="NAME",
                 help="The session; else DJINN_SESSION, else the one that `djinn wake` opened."),
]  # fmt: skip


@plain(
    'Examples: `djinn wake` · `djinn wake --task "mend the login" --budget 3000` · '
    "`djinn wake --agent finn --json`"
)
def wake(
    ctx: typer.Context,
    task: Annotated[
        str | None,
        typer.Option("--task", help="What is to be done: what is known of it comes too.",
                     metavar="TEXT"),
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", help="Tokens it may take; 100 or more.")
    ] = 2000,
    agent: options.Agent = None,
    session: Session = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Print the context to start with, and open a session.

    The summary, who the agent is, the last handoff and checkpoint, open commitments, active
    projects, preferences, and what the task recalls. A session that did not end with `djinn sleep`
    is told of, with its last checkpoint.
    """
    djinn = options.open_djinn(ctx)
    found = djinn.wake(agent=agent, task=task, budget=budget, session=session)
    told = [*djinn.problems, *found.problems]
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.session import Wake

        output.print_json(Wake(**asdict(found) | {"problems": told}))
        return
    from djinn_memory.memories.sessions.context_markdown import markdown

    output.problems(told)
    say(clean_lines(markdown(found)).rstrip())


@plain(
    'Examples: `djinn checkpoint "working on the parser"` · `djinn checkpoint '
    '"half of the tests pass" --focus "error messages" --decision "keep the old format"`'
)
def checkpoint(
    ctx: typer.Context,
    text: Annotated[
        str, typer.Argument(help="Where the work stands, in Markdown; - reads it from stdin.")
    ],
    focus: Annotated[
        str | None, typer.Option("--focus", help="What is looked at right now.", metavar="TEXT")
    ] = None,
    decisions: Annotated[
        list[str] | None,
        typer.Option("--decision", help="What was decided; repeatable.", metavar="TEXT"),
    ] = None,
    agent: options.Agent = None,
    session: Session = None,
    allow_secret: options.AllowSecret = False,
    json: options.Json = False,
) -> None:
    """Write a note that says where the work stands.

    Should the session break off, the next `djinn wake` begins with it.
    """
    djinn = options.open_djinn(ctx)
    done = djinn.checkpoint(
        options.text_or_stdin(text),
        agent=agent,
        focus=focus,
        decisions=decisions or (),
        session=session,
        allow_secret=allow_secret,
    )
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.session import Checkpoint

        output.print_json(Checkpoint(**asdict(done) | {"problems": _told(djinn, done)}))
    else:
        _written(djinn, done)
    output.ended(done.problems)


@plain(
    'Example: `djinn sleep --summary "The parser is done." --next "write its manual" '
    '--blocked "the licence is not decided"`'
)
def sleep(
    ctx: typer.Context,
    summary: Annotated[
        str,
        typer.Option("--summary", help="What was done, in Markdown; - reads it from stdin.",
                     metavar="TEXT"),
    ],
    following: Annotated[
        list[str] | None,
        typer.Option("--next", help="What is to be done next; repeatable.", metavar="TEXT"),
    ] = None,
    blocked: Annotated[
        list[str] | None,
        typer.Option("--blocked", help="What stands in the way; repeatable.", metavar="TEXT"),
    ] = None,
    agent: options.Agent = None,
    session: Session = None,
    allow_secret: options.AllowSecret = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """End the session with a handoff for the next `djinn wake`."""
    djinn = options.open_djinn(ctx)
    done = djinn.sleep(
        options.text_or_stdin(summary),
        agent=agent,
        next=following or (),
        blocked=blocked or (),
        session=session,
        allow_secret=allow_secret,
    )
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.session import Sleep

        output.print_json(Sleep(**asdict(done) | {"problems": _told(djinn, done)}))
    else:
        _written(djinn, done)
    output.ended(done.problems)


def _told(djinn: Djinn, done: RememberResult) -> list[object]:
    return [*djinn.problems, *done.problems]


def _written(djinn: Djinn, done: RememberResult) -> None:
    output.problems([*djinn.problems, *done.problems])
    say(f"{done.id}  {done.vault}/{done.path}")
