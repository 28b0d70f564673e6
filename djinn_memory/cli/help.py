"""Formats the help of a command: usage, text, and lists of arguments and options."""

from __future__ import annotations

import shutil
from itertools import zip_longest
from typing import Any

import typer

from djinn_memory.cli.layout import cells, wrap

LONGEST_NAME = 34
"""Maximum columns of a name. The help of a longer name begins on the next line."""

WIDEST = 100
"""Maximum columns of a line: longer lines are hard to read."""

HALF, TWO_HALVES = 42, 80
"""Columns of the left half of a list in two columns, and of a line that holds both."""

Rows = list[tuple[str, str]]


def help_width() -> int:
    """The columns of a line of help."""
    return min(shutil.get_terminal_size().columns, WIDEST)


def paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a help text, each on one line."""
    return [" ".join(part.split()) for part in (text or "").split("\n\n") if part.strip()]


def parameters(command: Any, ctx: Any) -> tuple[Rows, Rows]:
    """The arguments and the options of a command, each with its syntax and its help."""
    arguments: Rows = []
    options: Rows = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record:
            (arguments if param.param_type_name == "argument" else options).append(record)
    return arguments, options


def write_help(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the help of a command or a group into `formatter`.

    Typer's own writer imports a Markdown parser, a syntax highlighter and a traceback printer,
    which takes three times as long as the rest.
    """
    width = help_width()
    usage = " ".join(command.get_usage(ctx).split())
    blocks = [wrap(typer.style(usage, bold=True), width, indent=1, hang=3)]
    blocks += [wrap(_styled(text), width, indent=1) for text in paragraphs(command.help)]
    arguments, options = parameters(command, ctx)
    two = ctx.parent is None and width >= TWO_HALVES
    sections = getattr(command, "sections", {}).items()
    blocks += [(_halves if two else write_list)(title, rows, width) for title, rows in sections]
    lists = {"Arguments": arguments, "Options": options}
    blocks += [write_list(title, rows, width) for title, rows in lists.items() if rows]
    for text in paragraphs(command.epilog):
        label, _, listed = text.partition(": ")
        if label in ("Example", "Examples"):
            rows = [_styled(example) for example in listed.split(" · ")]
            lines = [wrap(row, width, indent=3, hang=5) for row in rows]
            blocks.append("\n".join([_title(label), *lines]))
        else:
            blocks.append(wrap(_styled(text), width, indent=1))
    formatter.write("\n\n".join(blocks) + "\n")


def _halves(title: str, rows: Rows, width: int) -> str:
    """A list in two columns, read downwards."""
    cells = [f"{typer.style(f'{name:11}', fg='cyan', bold=True)}{text}" for name, text in rows]
    half = (len(cells) + 1) // 2
    widths = [HALF - 3 - len(f"{name:11}{text}") for name, text in rows]
    left = [cell + " " * space for cell, space in zip(cells, widths, strict=True)][:half]
    lines = zip_longest(left, cells[half:], fillvalue="")
    return "\n".join([_title(title), *(f"   {first}{second}".rstrip() for first, second in lines)])


def write_list(title: str, rows: Rows, width: int) -> str:
    """Names with their texts below a title."""
    lines = [_title(title)]
    column = 5 + max((cells(name) for name, _ in rows if len(name) <= LONGEST_NAME), default=0)
    for name, text in rows:
        styled = typer.style(name, fg="cyan", bold=True)
        about = _styled(" ".join(text.split()))
        if len(name) > LONGEST_NAME:
            # A long list of choices would push the texts out of sight.
            lines += [wrap(styled, width, indent=3, hang=5), wrap(about, width, indent=column)]
        else:
            padding = " " * (column - 3 - cells(name))
            lines.append(wrap(f"{styled}{padding}{about}", width, indent=3, hang=column))
    return "\n".join(lines)


def _title(text: str) -> str:
    return " " + typer.style(f"{text}:", bold=True)


def _styled(text: str) -> str:
    """A text in which code between backticks is highlighted."""
    return "".join(
        typer.style(part, fg="cyan", bold=True) if number % 2 else part
        for number, part in enumerate(text.split("`"))
    )
