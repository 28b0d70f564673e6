"""djinn summary show, set, build."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, say, talk

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.memories.sessions.requests import SummaryChange


@plain("Example: `djinn summary show`")
def show(ctx: typer.Context, agent: options.Agent = None, json: options.Json = False) -> None:
    """Print the summary."""
    djinn = options.open_djinn(ctx)
    found = djinn.summary.show(agent=agent)
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.summary import SummaryShow

        output.print_json(SummaryShow(**asdict(found), problems=djinn.problems))
    else:
        output.problems(djinn.problems)
        talk(output.dim(clean(f"{found.vault}/{found.path}, by {found.by}")))
        say(output.clean_lines(found.text))


@plain(
    'Examples: `djinn summary set "Maren runs the harbour office."` · '
    "`djinn summary set - < summary.md`"
)
def set_summary(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="The summary in Markdown; - reads it from stdin.")],
    agent: options.Agent = None,
    allow_secret: options.AllowSecret = False,
    json: options.Json = False,
) -> None:
    """Write the summary; the previous one is kept."""
    djinn = options.open_djinn(ctx)
    said = sys.stdin.read() if text == "-" else text
    _told(djinn, djinn.summary.set(said, agent=agent, allow_secret=allow_secret), json)


@plain("Example: `djinn summary build`")
def build(
    ctx: typer.Context,
    force: Annotated[
        bool, typer.Option("--force", help="In the place of one that was written by hand, too.")
    ] = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Build the summary from facts, preferences, active projects and open commitments.

    Where `llm.model` is set that model writes it; else it is put together without one.
    """
    djinn = options.open_djinn(ctx)
    done = djinn.summary.build(agent=agent, force=force)
    _told(djinn, done, json)


def _told(djinn: Djinn, done: SummaryChange, json: bool) -> None:
    problems = [*djinn.problems, *done.problems]
    if json:
        from djinn_memory.cli.schemas.summary import SummarySet

        output.print_json(SummarySet(done.action, done.summary, done.previous, problems))
    else:
        output.problems(problems)
        place = f"{done.summary.vault}/{done.summary.path}"
        before = f" (before: {done.previous})" if done.previous else ""
        say(clean(f"{done.action} {place}{before}"))
    output.ended(done.problems)
