"""djinn vault add, list, remove."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from djinn_memory.cli import candidates, options, output, parsing
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say, talk
from djinn_memory.models import Dialect, Problem

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


@plain("Example: `djinn vault add notes ~/Documents/notes --read-only`")
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it.")],
    path: Annotated[
        Path, typer.Argument(help="An existing folder of Markdown notes.", parser=parsing.path)
    ],
    read_only: Annotated[
        bool, typer.Option("--read-only", help="djinn never writes into it.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="AGENT",
            help="Only this agent sees it.",
            autocompletion=candidates.agents,
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="DIALECT",
            autocompletion=lambda: list(DIALECTS),
            help=f"How its notes are written: {', '.join(DIALECTS)}; guessed if not given.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Add a folder of notes; it stays where it is and is searched by default."""
    from djinn_memory.home import setup
    from djinn_memory.notes.dialects.guess import guess
    from djinn_memory.system.files import expand

    home = options.open_djinn(ctx).home
    given, guessed = _dialect(dialect), None
    if given is None:
        given, guessed = guess(expand(path))
    vault = setup.add_vault(home, name, path, read_only=read_only, agent=agent, dialect=given)
    outer = setup.outer_vault(home, vault)
    why = f"lies in vault {outer.name}; only {agent} sees that folder from now on" if outer else ""
    problems = [Problem(name, why)] if why else []
    if json:
        from djinn_memory.cli.schemas.vault import VaultAdd, shown

        output.print_json(VaultAdd(shown(vault), guessed, problems))
        return
    output.problems(problems)
    why = f" ({guessed})" if guessed else ""
    say(f"{vault.name}: {output.clean(str(vault.root))}, dialect {vault.dialect}{why}")
    talk("Next: `djinn index`.")


def _dialect(written: str | None) -> Dialect | None:
    from djinn_memory.errors import UsageError

    for name in DIALECTS:
        if written == name:
            return name
    if written is not None:
        raise UsageError(f"--dialect {written}: no such one; allowed: {', '.join(DIALECTS)}")
    return None


@plain("Example: `djinn vault list`")
def list_vaults(ctx: typer.Context, json: options.Json = False) -> None:
    """List the vaults and whom they are for."""
    home = options.open_djinn(ctx).home
    if json:
        from djinn_memory.cli.schemas.vault import VaultList, shown

        output.print_json(VaultList([shown(vault) for vault in home.vaults]))
        return
    output.columns(
        [
            [
                vault.name,
                f"for {vault.agent}" if vault.agent else "everybody",
                ", ".join(
                    ["read-only"] * vault.read_only
                    + [vault.dialect] * (vault.dialect != "obsidian")
                ),
                str(vault.root),
            ]
            for vault in home.vaults
        ]
    )


@plain(
    'Examples: `djinn vault describe notes "Everything I know of the harbour"` · '
    '`djinn vault describe notes/minutes "Minutes of the council, one a month"`'
)
def describe(
    ctx: typer.Context,
    place: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A vault, or a folder in it: notes/minutes.",
            autocompletion=candidates.folders,
        ),
    ],
    text: Annotated[
        str | None, typer.Argument(help="A sentence; an empty one takes it away again.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Describe a folder in a sentence that hits from it carry.

    A hit carries the sentence of the innermost described folder. Without a text, show it.
    """
    from djinn_memory.home import setup

    where, said = setup.describe(options.open_djinn(ctx).home, place, text)
    if json:
        from djinn_memory.cli.schemas.vault import VaultDescribe

        output.print_json(VaultDescribe(where, said or None))
    else:
        say(output.clean(f"{where}: {said or 'not described'}"))


@plain("Example: `djinn vault remove notes`")
def remove(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A vault that was added.", autocompletion=candidates.added_vaults)
    ],
    json: options.Json = False,
) -> None:
    """Remove a vault from the settings; its files stay."""
    from djinn_memory.home import setup

    vault = setup.remove_vault(options.open_djinn(ctx).home, name)
    if json:
        from djinn_memory.cli.schemas.vault import VaultRemove, shown

        output.print_json(VaultRemove(shown(vault)))
    else:
        say(f"removed {vault.name}; its files stay in {output.clean(str(vault.root))}")
