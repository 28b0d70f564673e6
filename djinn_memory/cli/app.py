"""The command line: the error handler and the tree of commands."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from typer.core import TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from djinn_memory import __version__
from djinn_memory.cli import INTERRUPTED, INTERRUPTION, completion, output, parsing, tree
from djinn_memory.cli.command import resident
from djinn_memory.cli.help import write_help
from djinn_memory.cli.mistakes import explain, unknown_command
from djinn_memory.cli.output import say, talk
from djinn_memory.errors import DjinnError, current_wording, using_wording
from djinn_memory.operations.wording import CommandWording
from djinn_memory.system.waits import seconds_waited

HELP = ("-h", "--help")
"""The options that print the help."""


class _CommandGroup(TyperGroup):
    """A group whose list comes from the tree; `noun` is empty for the top.

    A command is imported on first access.
    """

    def __init__(self, *, noun: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.noun = noun
        self.lines = tree.below(noun)
        """The names of its commands, with their lines in lists."""
        self.sections = tree.sections(noun)
        """The names and lines by section, for the help."""
        self.default = tree.DEFAULTS.get(noun)
        """The command that runs if none is named; None if one must be."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with a name, or None."""
        if cmd_name not in self.commands and cmd_name in self.lines:
            self.commands[cmd_name] = self._load(cmd_name)
        return super().get_command(ctx, cmd_name)

    def _load(self, name: str) -> Any:
        words = tree.canonical(f"{self.noun} {name}".strip())
        if words in tree.NOUNS:
            line = self.lines[name]
            return _CommandGroup(noun=words, name=name, help=line, no_args_is_help=True)
        return tree.load(words).build(words)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the name. Options alone are those of the default command."""
        if self.default and (not args or (args[0][:1] == "-" and args[0] not in HELP)):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands. No command is imported."""
        return list(self.lines)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command with a name.

        An unknown name raises an error that suggests similar commands.
        """
        if args[0] not in self.lines and not ctx.resilient_parsing:
            raise unknown_command(self.noun, *args)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group."""
        write_help(self, ctx, formatter)


ERROR_SCHEMA = "error"

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


def _report_error(error: DjinnError) -> int:
    """Report a `DjinnError`. Returns the exit code."""
    words = current_wording()
    _report(error.code, words.statement(error), words.remedies(error))
    return error.exit_code


def _report_os_error(error: OSError) -> int:
    """Report an `OSError`. Returns the exit code."""
    where = f"{error.filename}: " if error.filename else ""
    remedy = "check the path, its permissions and the disk"
    _report("unavailable", f"{where}{error.strerror or error}", remedy)
    return UNAVAILABLE


def _report_interruption() -> None:
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
    output.as_json(ERROR_SCHEMA, ErrorReport(detail), None)


def _as_json() -> bool:
    """Whether the command line asks for JSON, even if it cannot be parsed."""
    words = sys.argv[1:]
    words = words[: words.index("--")] if "--" in words else words
    return any(word == "--json" or word.startswith("--json=") for word in words)


# Typer keeps its copy of click to itself; this is the class above all its usage errors.
_CommandLineError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"djinn {__version__}")
        raise typer.Exit


def common(
    ctx: typer.Context,
    home_folder: Annotated[
        Path | None,
        typer.Option(
            "--home", metavar="DIR", parser=parsing.path,
            help="The home. Default: DJINN_HOME, the nearest, or ~/djinn.",
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
    timings: Annotated[
        bool,
        typer.Option("--timings", help="Say how long the command took, and waited for locks."),
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option("--install-completion", callback=completion.install, is_eager=True,
                     help="Install completion for bash, zsh or fish."),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option("--show-completion", callback=completion.show, is_eager=True,
                     help="Print the completion script, to install it yourself."),
    ] = False,
) -> None:  # fmt: skip
    """Store the value of `--home` for the command that follows."""
    ctx.obj = home_folder
    if timings:
        ctx.call_on_close(partial(_tell_timings, time.monotonic(), seconds_waited()))


def _tell_timings(began: float, waited_before: float) -> None:
    took, waited = time.monotonic() - began, seconds_waited() - waited_before
    by = f"process {os.getpid()}, which was running already" if resident.get() else "this process"
    talk(f"timings: {took:.3f} s in total, {waited:.3f} s of it waiting for locks; run by {by}")


def root() -> Any:
    """The root command: the global options and the tree of commands."""
    info = CommandInfo(
        name="djinn",
        cls=_CommandGroup,  # type: ignore[arg-type]
        callback=common,
        help="Long-term memory for people and their AI agents, in plain Markdown files.",
        no_args_is_help=True,
        context_settings={"help_option_names": [*HELP]},
        epilog="Next: `djinn help WORD` on a word above, `help home` on terms, `help all`.",
    )
    return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)


def main() -> int:
    """Run the command line. A user error prints one line and sets the exit code."""
    with using_wording(CommandWording()):
        return _run()


def fail(error: DjinnError) -> int:
    """Report an error outside a command. Returns the exit code."""
    with using_wording(CommandWording()):
        return _report_error(error)


def _run() -> int:
    try:
        code = root()(prog_name="djinn", standalone_mode=False)
        sys.stdout.flush()
    except DjinnError as error:
        return _report_error(error)
    except _CommandLineError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(error.format_message())  # type: ignore[attr-defined]
            return 2
        _report("usage", *explain(error))
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader, such as `head`, has what it wanted; without this Python complains at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        code = 0
    except OSError as error:
        code = _report_os_error(error)
    if code == INTERRUPTED:
        _report_interruption()
    return code if isinstance(code, int) else 0
