"""djinn vault add, list, remove."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.output import say, talk

app = typer.Typer(help="Folders of notes that are searched.", no_args_is_help=True)


@app.command(epilog="Example: `djinn vault add notes ~/Documents/notes --read-only`")
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it.")],
    path: Annotated[Path, typer.Argument(help="An existing folder of Markdown notes.")],
    read_only: Annotated[
        bool, typer.Option("--read-only", help="djinn never writes into it.")
    ] = False,
    agent: Annotated[
        str | None, typer.Option("--for", metavar="AGENT", help="Only this agent sees it.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Join a folder of notes; it stays where it is and is searched by default."""
    from djinn_memory import home as homes

    vault = homes.add_vault(
        options.open_djinn(ctx).home, name, path, read_only=read_only, agent=agent
    )
    if json:
        output.as_json("djinn.vault.add/1", vault=vault, problems=[])
        return
    say(f"{vault.name}: {output.clean(str(vault.root))}")
    talk("Next: `djinn index`.")


@app.command(name="list", epilog="Example: `djinn vault list`")
def list_vaults(ctx: typer.Context, json: options.Json = False) -> None:
    """List the vaults and whose they are."""
    home = options.open_djinn(ctx).home
    if json:
        output.as_json("djinn.vault.list/1", vaults=home.vaults, problems=[])
        return
    output.columns(
        [
            [
                vault.name,
                f"for {vault.agent}" if vault.agent else "everybody",
                "read-only" if vault.read_only else "",
                str(vault.root),
            ]
            for vault in home.vaults
        ]
    )


@app.command(epilog="Example: `djinn vault remove notes`")
def remove(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A vault that was added.")],
    json: options.Json = False,
) -> None:
    """Take a vault off the list. Its files are not touched."""
    from djinn_memory import home as homes

    vault = homes.remove_vault(options.open_djinn(ctx).home, name)
    if json:
        output.as_json("djinn.vault.remove/1", vault=vault, problems=[])
    else:
        say(f"removed {vault.name}; its files stay in {output.clean(str(vault.root))}")
