"""djinn recall, rate."""

from __future__ import annotations

from typing import Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, say, talk


@plain(
    'Examples: `djinn recall "how do we deploy"` · '
    '`djinn recall "what is next" --profile planning --budget 4000` · '
    '`djinn recall "tide tables" --explain`'
)
def recall(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="A question or words, as for a search.")],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            help="What it is for: default, planning, incident, handoff, one of your own, or auto.",
            autocompletion=candidates.profiles, metavar="NAME",
        ),
    ] = None,
    limit: options.Limit = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", help="Tokens of text at most; 50 or more."),
    ] = None,
    agent: options.Agent = None,
    vaults: options.Vaults = None,
    types: options.Types = None,
    tags: options.Tags = None,
    planes: options.Planes = None,
    since: options.Since = None,
    until: options.Until = None,
    where: options.Where = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show every number behind the order, as `--json` does."),
    ] = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Print whole memories that help with a question, the best first.

    A search, moved by what you used and rated before and by what notes say of themselves. It is
    written down, so that `djinn rate last` knows what was shown.
    """
    from djinn_memory.cli import recall_text

    asked = options.filters(
        vaults=vaults, types=types, tags=tags, planes=planes, since=since, until=until, where=where
    )
    found = options.open_djinn(ctx).recall(
        " ".join(query), profile=profile, limit=limit, budget=budget, agent=agent,
        **options.narrowing(asked),
    )  # fmt: skip
    if json:
        recall_text.as_json(found)
    else:
        recall_text.as_text(found, explain=explain)


@plain(
    "Examples: `djinn rate last --useful 1,3 --not-useful 2` · "
    '`djinn rate last --gap "no word on backups" --gap-query "restore a backup"` · '
    "`djinn rate --useful mem_7k2m9q4dxw30hv5t`"
)
def rate(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(help="`last`, or the id that a recall printed. Without it ranks are those "
                       "of the last recall, and names those of any memory.",
                       autocompletion=candidates.requests),
    ] = None,
    useful: Annotated[
        list[str] | None,
        typer.Option("--useful", help="Ranks, as 1,3, or a memory's id, path or title; repeatable.",
                     metavar="RANKS"),
    ] = None,
    not_useful: Annotated[
        list[str] | None,
        typer.Option("--not-useful", help="The same, of what did not help.", metavar="RANKS"),
    ] = None,
    gap: Annotated[
        str | None, typer.Option("--gap", help="What was missing, in a sentence.", metavar="TEXT")
    ] = None,
    gap_query: Annotated[
        str | None,
        typer.Option("--gap-query", help="What you asked; that of the recall if not given.",
                     metavar="TEXT"),
    ] = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Rate the memories of a recall, so that the next recall learns.

    What you do not name is not judged. Three ratings are needed before bad ones count, and a
    rating given again for the same recall corrects the one before.
    """
    from djinn_memory.memories.recall.rating import ranks_and_names

    djinn = options.open_djinn(ctx)
    done = djinn.rate(
        target, useful=ranks_and_names(useful or ()),
        not_useful=ranks_and_names(not_useful or ()),
        gap=gap, gap_query=gap_query, agent=agent,
    )  # fmt: skip
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.recall import Rate

        output.print_json(Rate(**asdict(done), problems=djinn.problems))
        return
    output.problems(djinn.problems)
    for one in done.judged:
        rank = f"{one.rank}. " if one.rank else ""
        say(f"{'useful' if one.useful else 'not useful'}: {rank}{clean(one.title)}")
    if done.gap_id:
        say(f"gap {done.gap_id}")
        talk("`djinn gap suggest` tells when a note answers it")
