"""djinn maintain."""

from __future__ import annotations

from typing import Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say, talk


@plain("Examples: `djinn maintain` · `djinn maintain --only promote --dry-run`")
def maintain(
    ctx: typer.Context,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only this task, promote or expire; repeatable.",
                     metavar="TASK", autocompletion=candidates.chores),
    ] = None,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Run the upkeep that a home needs about once a day.

    promote: short-term entries of `djinn working` that were used three times or more become notes;
    those that say the same become one. expire: memories whose time is over are marked so.
    """
    done = options.open_djinn(ctx).maintain(only or (), dry_run=dry_run)
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.maintain import Maintain

        output.print_json(Maintain(**asdict(done)))
    else:
        output.problems(done.problems)
        for one in done.deeds:
            place = f"  {one.vault}/{one.path}" if one.path else ""
            say(output.clean(f"{one.task}  {one.what}{place}"))
        if not done.deeds:
            talk("nothing to do")
    if done.problems:
        raise typer.Exit(1)
