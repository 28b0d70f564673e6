"""How the help of a command looks: its usage, its text, and a panel for each kind of entry."""

from __future__ import annotations

import io
import sys
from typing import Any

LONGEST_NAME = 34
"""Characters: the help of a longer name begins on the next line."""

Rows = list[tuple[str, str]]


def paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a help text, each on one line."""
    return [" ".join(part.split()) for part in (text or "").split("\n\n") if part.strip()]


def parameters(command: Any, ctx: Any) -> tuple[Rows, Rows]:
    """The arguments and the options of a command: how each is written, and its help."""
    arguments: Rows = []
    options: Rows = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record:
            (arguments if param.param_type_name == "argument" else options).append(record)
    return arguments, options


def write_help(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the help of a command or a group into `formatter`.

    Typer's own writer imports a Markdown parser, a syntax highlighter and a traceback printer:
    three times what this needs.
    """
    from rich.console import Console
    from rich.padding import Padding

    file = io.StringIO()
    console = Console(file=file, force_terminal=sys.stdout.isatty(), highlight=False)
    console.print(Padding(_styled(command.get_usage(ctx), "bold"), 1))
    for text in paragraphs(command.help):
        console.print(Padding(_styled(text), (0, 1, 1, 1)))
    arguments, options = parameters(command, ctx)
    lines = getattr(command, "lines", {})
    for title, rows in (
        ("Arguments", arguments),
        ("Options", options),
        ("Commands", [*lines.items()]),
    ):
        if rows:
            console.print(_panel(title, rows))
    for text in paragraphs(command.epilog):
        console.print(Padding(_styled(text, "dim"), 1))
    formatter.write(file.getvalue())


def _panel(title: str, rows: Rows) -> Any:
    from rich.panel import Panel
    from rich.table import Table

    table = Table(box=None, show_header=False, expand=True, pad_edge=False, padding=(0, 1))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(ratio=1)
    for name, text in rows:
        # A long list of choices would push the texts out of sight.
        short = name if len(name) <= LONGEST_NAME else ""
        if not short:
            table.add_row(name.replace("|", "|\u200b"), "")
        table.add_row(short, _styled(" ".join(text.split())))
    return Panel(table, title=title, title_align="left", border_style="dim")


def _styled(text: str, style: str = "") -> Any:
    """A text in which what stands between backticks is highlighted."""
    from rich.text import Text

    parts = [
        (part, "bold cyan" if number % 2 else style) for number, part in enumerate(text.split("`"))
    ]
    return Text.assemble(*parts)
