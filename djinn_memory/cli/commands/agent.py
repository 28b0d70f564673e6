"""djinn agent add, list."""

from __future__ import annotations

from typing import Annotated

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say


@plain("Example: `djinn agent add grace`")
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Letters, digits, '.', '-' and '_'.")],
    json: options.Json = False,
) -> None:
    """Add an agent, with a personal vault."""
    from djinn_memory.home import setup

    home = options.open_djinn(ctx).home
    made = setup.add_agent(home, name)
    if json:
        from djinn_memory.cli.schemas.agent import AgentAdd

        output.print_json(AgentAdd(name, made))
    else:
        say(f"{name}: {home.config.vaults[name].path}" + ("" if made else " (was there)"))


@plain("Example: `djinn agent list --json`")
def list_agents(ctx: typer.Context, json: options.Json = False) -> None:
    """List the agents; the first is the default."""
    home = options.open_djinn(ctx).home
    vaults = home.config.vaults
    rows = [(name, vaults[name].path if name in vaults else None) for name in home.config.agents]
    if json:
        from djinn_memory.cli.schemas.agent import Agent, AgentList

        output.print_json(AgentList([Agent(*row) for row in rows]))
    else:
        output.columns([[name, vault or "-"] for name, vault in rows])
