"""Reports failures of commands: one line on stderr, and with `--json` an object on stdout."""

from __future__ import annotations

import sys
from typing import Any

import typer
from msgspec import Struct

from djinn_memory.cli import INTERRUPTION, output
from djinn_memory.cli.text.usage import explain
from djinn_memory.errors import DjinnError, current_wording

SCHEMA = "error"

UNAVAILABLE = 5


class ErrorDetail(Struct, frozen=True):
    """The failure and its remedy."""

    code: str
    """The kind of failure: usage, config, refused, outside_vault, changed, not_found, unavailable,
    busy, index_missing, interrupted or failed."""
    message: str
    """A description on one line."""
    remedy: str | None
    """The remedy; null if the message includes it or there is none."""


class ErrorReport(Struct, frozen=True):
    """The JSON output of a failed command."""

    error: ErrorDetail
    """The failure."""


def report_error(error: DjinnError) -> int:
    """Report a `DjinnError`. Returns the exit code."""
    words = current_wording()
    _report(error.code, words.statement(error), words.remedies(error))
    return error.exit_code


def report_usage(error: Any) -> int:
    """Report a command line that could not be parsed. Returns the exit code."""
    _report("usage", *explain(error))
    return 2


def report_os_error(error: OSError) -> int:
    """Report an `OSError`. Returns the exit code."""
    where = f"{error.filename}: " if error.filename else ""
    _report("unavailable", f"{where}{error.strerror or error}", "")
    return UNAVAILABLE


def report_interruption() -> None:
    """Report that the user interrupted the command."""
    if _as_json():
        _print(ErrorDetail("interrupted", INTERRUPTION, None))
    output.talk(INTERRUPTION)


def _report(code: str, message: str, remedy: str) -> None:
    message, remedy = output.clean(message), output.clean(remedy)
    if _as_json():
        _print(ErrorDetail(code, message, remedy or None))
    line = "; ".join(filter(None, [message, remedy]))
    output.talk(f"{typer.style('error', fg='red')}: {line}")


def _print(detail: ErrorDetail) -> None:
    output.as_json(SCHEMA, ErrorReport(detail), None)


def _as_json() -> bool:
    """Whether the command line asks for JSON, even if it cannot be parsed."""
    words = sys.argv[1:]
    words = words[: words.index("--")] if "--" in words else words
    return any(word == "--json" or word.startswith("--json=") for word in words)
