"""djinn watch."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Meta, Struct

from djinn_memory.cli import output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.watch.heard import Kind

if TYPE_CHECKING:
    from djinn_memory.home.home import Home
    from djinn_memory.watch.heard import Heard, Notice
    from djinn_memory.watch.service import InstalledService, RemovedService

STOP_SECONDS = 1.7
"""Seconds before the process exits. A service manager waits little longer, and the next watch
continues unfinished work."""


class _WatchOptions(Struct, frozen=True):
    """Options of `djinn watch`."""

    vaults: Annotated[
        tuple[str, ...], Meta(description="Watch only these vaults; repeatable.")
    ] = ()
    log: Annotated[bool, Meta(description="Print one line per event, for use as a service.")] = (
        False
    )
    serve: Annotated[
        bool, Meta(description="Also serve the home over HTTP, as `djinn serve` does.")
    ] = False
    install_service: Annotated[
        bool,
        Meta(
            description="Run at each login: write a systemd user unit or a launchd agent, and "
            "print the command that starts it."
        ),
    ] = False

    uninstall_service: Annotated[
        bool, Meta(description="Stop the installed service and remove its file.")
    ] = False


class _WatchPrintOptions(Struct, frozen=True):
    """Options for printing events."""

    json: Annotated[bool, Meta(description="Print each event as a JSON object.")] = False


class _WatchNotice(Struct, frozen=True):
    """One event of a watch, printed as one line."""

    at: str
    """The local time of the event."""
    kind: Kind
    """The kind of event. `idle` means that all known changes are searchable."""
    text: str
    """One line for a person."""


def _run_watch(call: Call) -> InstalledService | RemovedService | None:
    djinn, request = call.djinn, call.request
    # Unknown names are refused before anything is written.
    djinn.home.named(request.vaults)
    if request.install_service:
        from djinn_memory.watch.service import install

        call.schema = "watch.service"
        return install(djinn.home, request.vaults, serve=request.serve)
    if request.uninstall_service:
        from djinn_memory.watch.service import uninstall

        call.schema = "watch.uninstalled"
        return uninstall(djinn.home)
    from queue import SimpleQueue

    heard: Heard = SimpleQueue()
    _stop_by_signal(heard)
    lines = call.json or request.log or not sys.stderr.isatty()
    display = _Lines(call.json) if lines else _Live()
    try:
        output.problems(djinn.problems)
        if request.serve:
            from djinn_memory.cli.commands.serve import ServeRequest, run_server

            watch = partial(djinn.watch, request.vaults, display.tell, heard)
            run_server(djinn.home, ServeRequest(), _watching(watch, heard))
        else:
            with _running_commands(djinn.home, heard):
                djinn.watch(request.vaults, display.tell, heard)
    finally:
        display.close()
    raise typer.Exit(0)


@contextmanager
def _running_commands(home: Home, heard: Heard) -> Iterator[None]:
    """Run commands of other processes during the block."""
    from djinn_memory.cli.warm.listener import listening
    from djinn_memory.djinn import Djinn
    from djinn_memory.operations.caller import Calls
    from djinn_memory.watch.heard import Notice

    def warn(text: str) -> None:
        heard.put(Notice("warning", text))

    calls = Calls(home, partial(Djinn, resident=True), warn)
    try:
        with listening(home, calls):
            yield
    finally:
        calls.close()


@contextmanager
def _watching(watch: Callable[[], object], heard: Heard) -> Iterator[None]:
    """Watch in another thread during the block. If the watch fails, the process gets a signal."""
    import signal
    import threading
    from contextvars import copy_context

    from djinn_memory.watch.heard import StopWatch

    failures: list[Exception] = []

    def run() -> None:
        try:
            watch()
        # The main thread raises it.
        except Exception as error:
            failures.append(error)
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=partial(copy_context().run, run), name="watch")
    thread.start()
    try:
        yield
    finally:
        heard.put(StopWatch())
        thread.join()
    if failures:
        raise failures[0]


@command(
    "watch",
    request=_WatchOptions,
    prints=_WatchPrintOptions,
    run=_run_watch,
    schemas={
        "watch": _WatchNotice,
        "watch.service": "djinn_memory.watch.service:InstalledService",
        "watch.uninstalled": "djinn_memory.watch.service:RemovedService",
    },
)
def _watch(call: Call, answer: InstalledService | RemovedService) -> None:
    """Keep the index up to date while files change.

    It watches all vaults until you stop it, and turns files that are dropped into the folder of the
    setting `inbox` into documents. Where the system does not report changes, as on a network drive,
    it scans the vault every few seconds. A Postgres server inside a home, which `djinn sync init
    --embedded` makes, runs as long as the watch. Exits with 0 on Ctrl-C.

    As long as it runs, it also runs `djinn search`, `recall`, `context`, `remember`, `show` and
    `list` of this home, with the same output, so that they start faster. A command with other
    settings in its environment runs by itself. If the watch ends in the middle of a command, the
    command ends with 5.

    Examples:
        djinn watch
        djinn watch --vault notes --log
        djinn watch --serve
        djinn watch --install-service
        djinn watch --uninstall-service
    """
    from djinn_memory.watch.service import RemovedService

    if isinstance(answer, RemovedService):
        say(f"removed {clean(str(answer.path))}")
        if not answer.ended:
            talk(f"if the service is still running, stop it with: {clean(answer.stop)}")
        return
    say(f"wrote {clean(str(answer.path))}")
    say(f"start: {clean(answer.start)}")
    say(f"stop:  {clean(answer.stop)}")


def _stop_by_signal(heard: Heard) -> None:
    """Stop cleanly on Ctrl-C or a service manager's signal, and at once if that takes too long."""
    import signal
    import threading

    from djinn_memory.watch.heard import StopWatch

    def end() -> None:
        from djinn_memory.watch.inbox import end_children

        end_children()
        # As safe as a kill: the next watch repeats uncommitted work.
        os._exit(0)

    def stop(*_: object) -> None:
        heard.put(StopWatch())
        late = threading.Timer(STOP_SECONDS, end)
        late.daemon = True
        late.start()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)


class _Lines:
    """Prints a line on stdout for each notice, with its time or as JSON."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def tell(self, notice: Notice) -> None:
        if self._json:
            event = _WatchNotice(_now(), notice.kind, notice.text)
            output.as_json("watch", event, indent=None)
            return
        mark = "warning: " if notice.kind == "warning" else ""
        say(f"{_now()} {mark}{clean(notice.text)}")
        sys.stdout.flush()

    def close(self) -> None:
        pass


class _Live:
    """A line on stderr that is rewritten, for a person. Only warnings stay."""

    def __init__(self) -> None:
        self._watching = self._notes = self._last = ""
        self._shown = 0

    def tell(self, notice: Notice) -> None:
        text = clean(notice.text)
        if notice.kind == "warning":
            self._draw(f"warning: {text}", stays=True)
        elif notice.kind == "start":
            self._watching = text
        elif notice.kind == "idle":
            self._notes = f", {text}"
        else:
            self._last = f" · {time.strftime('%H:%M:%S')} {text}"
        self._draw(f"{self._watching}{self._notes}{self._last}")

    def close(self) -> None:
        if self._watching:
            self._draw(f"stopped {self._watching}", stays=True)

    def _draw(self, line: str, *, stays: bool = False) -> None:
        from shutil import get_terminal_size

        if not stays:
            line = line[: get_terminal_size().columns - 1]
        sys.stderr.write("\r" + line.ljust(self._shown) + ("\n" if stays else ""))
        sys.stderr.flush()
        self._shown = 0 if stays else len(line)


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
