"""The command line: the error handler and the tree of commands."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from djinn_memory import __version__
from djinn_memory.cli import INTERRUPTED, completion, failures, parsing
from djinn_memory.cli.groups import CommandGroup
from djinn_memory.cli.output import say, talk
from djinn_memory.errors import DjinnError, speaking
from djinn_memory.operations.wording import CommandWording
from djinn_memory.system.waits import seconds_waited

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
            help="The home to use. Default: DJINN_HOME, the nearest folder with `.djinn/`, "
                "or ~/djinn.",
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
    timings: Annotated[
        bool,
        typer.Option("--timings", help="Print to stderr how long the command took and how long "
                     "it waited for locks of other djinn processes."),
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option("--install-completion", callback=completion.install, is_eager=True,
                     help="Install command completion for the current shell: bash, zsh or fish."),
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
    talk(f"timings: {took:.3f} s in total, {waited:.3f} s of it waiting for locks")


def root() -> Any:
    """The root command: the global options and the tree of commands."""
    info = CommandInfo(
        name="djinn",
        cls=CommandGroup,  # type: ignore[arg-type]
        callback=common,
        help="Long-term memory for people and their AI agents, stored as plain Markdown files that "
        "they own. A home is a folder with settings, vaults and djinn's own data.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="To start, run `djinn init`, put notes into `vaults/`, and run `djinn index` and "
        '`djinn search "a question"`.',
    )
    return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)


def main() -> int:
    """Run the command line. A user error prints one line and sets the exit code."""
    with speaking(CommandWording()):
        return _run()


def _run() -> int:
    try:
        code = root()(prog_name="djinn", standalone_mode=False)
        sys.stdout.flush()
    except DjinnError as error:
        return failures.report_error(error)
    except _CommandLineError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(error.format_message())  # type: ignore[attr-defined]
            return 2
        code = failures.report_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader, such as `head`, has what it wanted; without this Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        code = failures.report_os_error(error)
    if code == INTERRUPTED:
        failures.report_interruption()
    return code if isinstance(code, int) else 0
