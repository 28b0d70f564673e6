"""djinn watch."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, say

if TYPE_CHECKING:
    from djinn_memory.watch.heard import Heard, Notice

STOP_SECONDS = 1.7
"""What is not done by then is done by the next watch; a service manager waits little longer."""


@plain(
    "Examples: `djinn watch` · `djinn watch --vault notes --log` · `djinn watch --install-service`"
)
def watch(
    ctx: typer.Context,
    vaults: options.Vaults = None,
    log: Annotated[
        bool,
        typer.Option("--log", help="A line for each thing that happens, as a service wants it."),
    ] = False,
    install_service: Annotated[
        bool,
        typer.Option(
            "--install-service",
            help="Let the system do this from each login on: writes a systemd user unit, or a "
            "launchd agent, and says how to start it.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print each thing that happens as a JSON object.")
    ] = False,
) -> None:
    """Keep the index up to date while files change.

    Follows all vaults until you stop it, and files dropped into the folder that the setting
    `inbox` names become documents. Where the system does not tell of changes, as on a network
    drive, it looks again every few seconds. To stop it is no failure: it ends with exit code 0.
    """
    djinn = options.open_djinn(ctx)
    # Unknown names are told before anything is written.
    djinn.home.named(vaults or ())
    if install_service:
        _install(djinn.home, vaults or (), json=json)
        return
    from queue import SimpleQueue

    heard: Heard = SimpleQueue()
    _stop_by_signal(heard)
    shown = _Lines(json) if json or log or not sys.stderr.isatty() else _Live()
    try:
        output.problems(djinn.problems)
        djinn.watch(vaults or (), shown.tell, heard)
    finally:
        shown.close()
    raise typer.Exit(0)


def _install(home: Any, vaults: list[str] | tuple[()], *, json: bool) -> None:
    from djinn_memory.watch.service import install

    service = install(home, vaults)
    if json:
        from djinn_memory.cli.schemas.watch import WatchInstall

        output.print_json(WatchInstall(service.path, service.start, service.stop))
        return
    say(f"wrote {clean(str(service.path))}")
    say(f"start it: {clean(service.start)}")
    say(f"end it:   {clean(service.stop)}")


def _stop_by_signal(heard: Heard) -> None:
    """End tidily on Ctrl-C and by a service manager; at once where that takes too long."""
    import signal
    import threading

    from djinn_memory.watch.heard import StopWatch

    def end() -> None:
        from djinn_memory.watch.inbox import end_children

        end_children()
        # As safe as a kill: what is not committed is done again by the next watch.
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
    """A line on stdout for each notice: with its time, or as JSON."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def tell(self, notice: Notice) -> None:
        if self._json:
            from djinn_memory.cli.schemas.watch import WatchNotice

            output.print_json(WatchNotice(_now(), notice.kind, notice.text), indent=None)
            return
        mark = "warning: " if notice.kind == "warning" else ""
        say(f"{_now()} {mark}{clean(notice.text)}")
        sys.stdout.flush()

    def close(self) -> None:
        pass


class _Live:
    """One line on stderr that is rewritten, for a person; only warnings stay."""

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
