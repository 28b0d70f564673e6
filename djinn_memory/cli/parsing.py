"""Parses the command line: decides which arguments that begin with `-` are text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from djinn_memory.cli.help import write_help

_TEXT = re.compile(r"-(?:\.?\d|[^=\s]*\s)")
"""An option does not begin with a digit, and has no white space before its `=`."""


class Command(TyperCommand):
    """A command whose arguments may begin with `-`, such as `- oak` and `-5`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Text arguments are moved after a `--`."""
        return super().parse_args(ctx, self._apart(args) if any(map(is_text, args)) else args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command."""
        write_help(self, ctx, formatter)

    def _apart(self, args: list[str]) -> list[str]:
        takes = {
            name: param.nargs
            for param in self.params
            if param.param_type_name == "option" and not getattr(param, "is_flag", False)
            for name in param.opts
        }
        options, texts, rest = [], [], list(args)
        while rest:
            word = rest.pop(0)
            if word == "--":
                texts += rest
                break
            if is_text(word) or not word.startswith("-") or word == "-":
                texts.append(word)
                continue
            # Of several letters after one dash only the last can take a value.
            values = takes.get(word if word.startswith("--") else f"-{word[-1]}", 0)
            options += [word, *rest[:values]]
            del rest[:values]
        return [*options, "--", *texts]


def is_text(argument: str) -> bool:
    """Whether an argument that begins with `-` is text rather than an option."""
    return bool(_TEXT.match(argument))


def path(text: str) -> Path:
    """Parse a path. An empty path usually comes from an unset shell variable."""
    if not text:
        raise typer.BadParameter(
            "the path is empty; give a path, and check that the shell variable is set"
        )
    return Path(text)
