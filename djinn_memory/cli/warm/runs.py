"""Runs the command of another process in a thread of this one, as it would run there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from io import FileIO
from pathlib import Path
from typing import Any

from djinn_memory.cli import app, output, streams
from djinn_memory.cli.command import resident
from djinn_memory.djinn import Djinn
from djinn_memory.home import warm
from djinn_memory.home.home import Home
from djinn_memory.home.trust import endpoints
from djinn_memory.memories.hooks.answers import reply
from djinn_memory.memories.hooks.spool import Spool
from djinn_memory.models import silent
from djinn_memory.system.files import file_version

APPLIED = (
    "COLORTERM", "COLUMNS", "DJINN_SESSION", "FORCE_COLOR", "LINES", "NO_COLOR", "TERM",
)  # fmt: skip
"""The environment variables that a run gets from its command."""

_COMPARED = (
    "DJINN_", "HOME", "LANG", "LC_", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8",
    "SSL_CERT_", "TZ", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
_COMPARED_ENDS = ("_API_KEY", "_PROXY")
"""How the names of variables begin or end that must have the same value in both processes."""

_IGNORED = (*APPLIED, "DJINN_HOME", "DJINN_MCP_TOKEN")


class Process:
    """What a command must have in common with this process to run in it."""

    def __init__(self) -> None:
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._mark = warm.mark()
        self._sources: dict[str, object] = {}
        self._unchanged()

    def fits(self, request: Mapping[str, Any], home: Home) -> bool:
        """Whether a command does the same here as by itself."""
        here, there = _settled(os.environ, home), _settled(request["environment"], home)
        same = (request["mark"], request["umask"]) == (self._mark, self._umask)
        # Of a search on a server, only a process that answers once shows the plan.
        local = home.config.backend == "sqlite" and not any(
            word.startswith("--backend") for word in request.get("words", ())
        )
        return (
            same
            and local
            and request["root"] == str(home.root)
            and here == there
            and self._unchanged()
        )

    def _unchanged(self) -> bool:
        """Whether the program is still the one that this process has loaded."""
        for name, module in [*sys.modules.items()]:
            if name.partition(".")[0] == "djinn_memory" and (file := module.__file__):
                mark = file_version(Path(file))
                if self._sources.setdefault(file, mark) != mark:
                    return False
        return True


def _settled(variables: Mapping[str, str], home: Home) -> dict[str, str]:
    keys = {endpoint.key_env for endpoint in endpoints(home.config)}
    return {
        name: value
        for name, value in variables.items()
        if name in keys
        or (name.startswith(_COMPARED) and name not in _IGNORED)
        or name.upper().endswith(_COMPARED_ENDS)
    }


def run(djinn: Djinn, request: Mapping[str, Any], files: Sequence[FileIO]) -> dict[str, Any]:
    """Run a command, or answer a hook. Returns what its process needs to end."""
    with _variables(request["environment"], files):
        if "entry" in request:
            return _answer(djinn, request["entry"])
        return copy_context().run(_command, djinn, request["words"], files)


def _command(djinn: Djinn, words: list[str], files: Sequence[FileIO]) -> dict[str, Any]:
    resident.set(djinn)
    held: list[output.Held] = []
    before, sys.argv = sys.argv, [sys.argv[0], *words]
    try:
        with streams.replaced(files):
            with ExitStack() as end:
                output.holding.set((held, end))
                try:
                    code = app.main()
                except Exception:
                    sys.excepthook(*sys.exc_info())
                    code = 1
            return {"code": streams.finish(code), "pages": held}
    finally:
        sys.argv = before
        djinn.runtime.progress = silent


def _answer(djinn: Djinn, entry: dict[str, Any]) -> dict[str, Any]:
    runtime = djinn.runtime
    before = runtime.intake, runtime.recovery
    try:
        return {"text": reply(runtime, entry, Spool(str(djinn.home.state)))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        runtime.intake, runtime.recovery = before


@contextmanager
def _variables(environment: Mapping[str, str], files: Sequence[FileIO]) -> Iterator[None]:
    """The environment of a command, during the block, and the size of its terminal."""
    given = {name: environment[name] for name in APPLIED if name in environment}
    try:
        size = os.get_terminal_size(files[1].fileno())
    except (OSError, IndexError):
        size = os.terminal_size((80, 24))
    for name, number in (("COLUMNS", size.columns), ("LINES", size.lines)):
        if not given.get(name, "").isdigit() or int(given[name]) <= 0:
            given[name] = str(number)
    before = {name: os.environ.pop(name) for name in APPLIED if name in os.environ}
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            del os.environ[name]
        os.environ.update(before)
