"""djinn trust."""

from __future__ import annotations

from typing import Annotated

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say


@plain("Examples: `djinn trust` · `djinn trust --list`")
def trust(
    ctx: typer.Context,
    listing: Annotated[
        bool, typer.Option("--list", help="Show what is trusted and what waits for it.")
    ] = False,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Trust this home with nothing again.")
    ] = False,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """Let this home use the servers and models in its settings.

    Until then they do not count, so that a home that you cloned cannot send your notes anywhere.
    A setting that changes later is asked for again.
    """
    home = options.open_djinn(ctx).home
    wanted = list(home.untrusted)
    if revoke:
        home.distrust()
        wanted = list(home.untrusted)
    elif wanted and not listing:
        about = "; ".join(map(str, wanted))
        if options.confirmed("Trust this home with that?", yes, about=about, doing="trust it"):
            home.trust(wanted)
            wanted = []
    trusted = home.trusted
    if json:
        from djinn_memory.cli.schemas.home import Trust

        output.print_json(Trust(home.root, trusted, wanted))
        return
    for one in trusted:
        say(f"trusted  {output.clean(str(one))}")
    for one in wanted:
        say(f"waiting  {output.clean(str(one))}")
    if not trusted and not wanted:
        say("nothing to trust: this home reaches no server and no foreign model")
