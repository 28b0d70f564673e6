"""docs/cli.md: every command with its arguments and options, from the command line itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from djinn_memory.cli import tree
from djinn_memory.cli.app import root
from djinn_memory.cli.help import Rows, paragraphs, parameters

HEAD = """# Command line

Made by `make docs` from the help of the commands. `djinn --help` and `djinn COMMAND --help` print it.
"""  # noqa: E501
SHARED = 3
"""Commands that an option must mean the same in to stand in the table of shared options."""
HELP = "-h, --help"


def page() -> str:
    """The whole page."""
    commands = [*_commands()]
    counted = Counter(row for _, _, _, options in commands for row in options)
    # Of two meanings of one name the frequent one is shared; the other stands with its commands.
    usual = {_name(row): row for row, number in reversed(counted.most_common())}
    shared = {row for row in usual.values() if counted[row] >= SHARED}
    listed = sorted((row for row in shared if row[0] != HELP), key=_name)
    parts = [
        HEAD,
        "## Shared options\n\nEvery command has `-h, --help`. These options mean the same in every "
        f"command that names them.\n\n{_table('option', listed)}",
    ]
    for usage, command, arguments, options in commands:
        own = [row for row in options if row not in shared]
        also = [f"`{_name(row)}`" for row in options if row in shared and row[0] != HELP]
        name = usage.partition(" [")[0].partition(" {")[0]
        parts.append(f"## `{name}`\n\n" + "\n\n".join(paragraphs(command.help)) + "\n")
        if full := {f"djinn {words}": short for short, words in tree.ALIASES.items()}.get(name):
            parts.append(f"The short form is `djinn {full}`.\n")
        if lines := getattr(command, "lines", {}):
            parts.append(_table("command", [(f"{name} {at}", line) for at, line in lines.items()]))
        else:
            parts.append(f"```text\n{usage}\n```\n")
        if own or arguments:
            parts.append(_table("argument or option", [*arguments, *own]))
        if also:
            parts.append(f"Shared options: {', '.join(also)}.\n")
        if command.epilog:
            parts.append(f"{command.epilog}\n")
    return "\n".join(parts)


def _commands() -> Iterator[tuple[str, Any, Rows, Rows]]:
    """The usage of every command and group, with its arguments and its options."""

    def walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, Any, Rows, Rows]]:
        with command.make_context(name, [], parent=parent, resilient_parsing=True) as ctx:
            usage = " ".join(command.get_usage(ctx).removeprefix("Usage: ").split())
            yield (usage, command, *parameters(command, ctx))
            for inner in getattr(command, "lines", ()):
                if parent is not None or inner not in tree.ALIASES:
                    yield from walk(command.get_command(ctx, inner), inner, ctx)

    yield from walk(root(), "djinn", None)


def _name(row: tuple[str, str]) -> str:
    """The long name of an option."""
    return row[0].split(" / ")[0].split(", ")[-1].split(" ")[0]


def _table(head: str, rows: Rows) -> str:
    lines = [f"| {head} | |", "|---|---|"]
    for name, text in rows:
        cells = f"`{name}`", " ".join(text.split())
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
