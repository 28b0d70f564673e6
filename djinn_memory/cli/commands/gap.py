"""djinn gap list, report, close, suggest."""

from __future__ import annotations

from typing import Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.parsing import App

app = App(help="What agents looked for in vain.", no_args_is_help=True)


@app.command(name="list", epilog="Examples: `djinn gap list` · `djinn gap list --closed --json`")
def list_gaps(
    ctx: typer.Context,
    closed: Annotated[bool, typer.Option("--closed", help="Closed ones too.")] = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """List open gaps, those about one thing together."""
    djinn = options.open_djinn(ctx)
    groups = djinn.gaps.list(agent=agent, closed=closed).groups
    if json:
        from djinn_memory.cli.schemas.gap import GapList

        output.as_json(GapList(groups, djinn.problems))
        return
    output.problems(djinn.problems)
    if not groups:
        talk("no gaps")
    for group in groups:
        for number, gap in enumerate(group.gaps):
            asked = f"  (asked: {gap.query})" if gap.query else ""
            answer = f"  closed{f' by {gap.closed_by}' if gap.closed_by else ''}"
            done = answer if gap.status == "closed" else ""
            indent = "  " if number else ""
            say(clean(f"{indent}{gap.id}  {gap.created[:10]}  {gap.description}{asked}{done}"))


@app.command(
    epilog='Example: `djinn gap report "nothing on how to restore a backup" --query "restore"`'
)
def report(
    ctx: typer.Context,
    description: Annotated[str, typer.Argument(help="What was missing, in a sentence.")],
    query: Annotated[
        str | None, typer.Option("--query", help="What you asked.", metavar="TEXT")
    ] = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Tell of a gap, without rating a recall."""
    djinn = options.open_djinn(ctx)
    made = djinn.gaps.report(description, query=query, agent=agent).gap_id
    if json:
        from djinn_memory.cli.schemas.gap import GapReport

        output.as_json(GapReport(made, djinn.problems))
    else:
        output.problems(djinn.problems)
        say(f"gap {made}")


@app.command(epilog='Example: `djinn gap close gap_3v9qk2m7xd --by "Backups: Restore"`')
def close(
    ctx: typer.Context,
    gap: Annotated[
        str, typer.Argument(help="Its id, as `gap list` shows it.", autocompletion=candidates.gaps)
    ],
    by: Annotated[
        str | None,
        typer.Option("--by", help="The note that answers it.", metavar="NOTE",
                     autocompletion=candidates.titles),
    ] = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Close a gap: a note answers it, or it does not matter any more."""
    djinn = options.open_djinn(ctx)
    closed = djinn.gaps.close(gap, by=by, agent=agent).gap
    if json:
        from djinn_memory.cli.schemas.gap import GapClose

        output.as_json(GapClose(closed, djinn.problems))
    else:
        output.problems(djinn.problems)
        say(clean(f"closed {closed.id}: {closed.description}"))


@app.command(epilog="Examples: `djinn gap suggest` · `djinn gap suggest --close`")
def suggest(
    ctx: typer.Context,
    accept: Annotated[
        bool, typer.Option("--close", help="Close each gap by the note that is suggested.")
    ] = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Look for notes written since a gap was told of that may answer it, by meaning."""
    djinn = options.open_djinn(ctx)
    found = djinn.gaps.suggest(agent=agent, close=accept).suggestions
    if json:
        from djinn_memory.cli.schemas.gap import GapSuggest

        output.as_json(GapSuggest(found, djinn.problems))
        return
    output.problems(djinn.problems)
    if not found:
        talk("no note answers an open gap")
    for one in found:
        say(clean(f"{one.gap.id}  {one.gap.description}"))
        done = "closed by" if one.closed else "maybe"
        say(clean(f"  {done} {one.title}  ({one.vault}/{one.path})  {one.likeness:.2f}"))
    if found and not accept:
        talk("`djinn gap suggest --close` closes them, `djinn gap close ID --by NOTE` one")
