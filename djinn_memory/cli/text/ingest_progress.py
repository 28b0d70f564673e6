"""Shows files while workers read them: a line for each at a terminal, a word now and then else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from djinn_memory.cli.output import clean, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.documents.pool.pool import Event
    from djinn_memory.memories.library.requests import FileOutcome

EVERY = 5.0
"""Seconds between two lines about one file in a log."""


class FileLines:
    """What is told of a run of `djinn ingest`. `settled` prints what became of a file."""

    def __init__(self, quiet: bool, settled: Callable[[FileOutcome], None]) -> None:
        self._quiet = quiet
        self._settled = settled
        self._live: Any = None
        self._tasks: dict[str, Any] = {}
        self._spoke: dict[str, float] = {}

    def __enter__(self) -> FileLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def tell(self, event: Event | FileOutcome) -> None:
        """Show that a file is begun, goes on or is done."""
        from djinn_memory.documents.pool.pool import FileStarted, PagesRead
        from djinn_memory.memories.library.requests import FileOutcome

        if self._quiet:
            return
        if isinstance(event, FileOutcome):
            self._end(event.file)
            try:
                self._settled(event)
            except BrokenPipeError:
                # Who reads along, `head` say, has enough; the files are to be done all the same.
                self._quiet = True
        elif isinstance(event, FileStarted | PagesRead):
            place = str(event.request.path)
            done, total = (event.done, event.total) if isinstance(event, PagesRead) else (0, None)
            if sys.stderr.isatty():
                self._bar(place, event.request.name, done, total)
            else:
                self._word(place, event.request.name, done, total)

    def ask(self, name: str, why: str) -> str | None:
        """A password from the person at the terminal; None for an empty answer."""
        self._stop()
        talk(f"{clean(name)} {clean(why.partition(';')[0])}")
        answer: str = typer.prompt(
            "Password (empty to skip it)", hide_input=True, default="", show_default=False, err=True
        )
        return answer or None

    def no_answer(self, name: str, why: str) -> str | None:
        """For when nobody can be asked."""
        return None

    def _word(self, place: str, name: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._spoke.setdefault(place, now) > EVERY:
            self._spoke[place] = now
            of = f"{done:,} of " if total else ""
            talk(f"{clean(name)}: {of}{count(total or done, 'page')} read")

    def _bar(self, place: str, name: str, done: int, total: int | None) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._live = Progress(
                TextColumn("{task.fields[name]}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[pages]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._live.start()
        if place not in self._tasks:
            self._tasks[place] = self._live.add_task("", total=None, name=clean(name), pages="")
        pages = f"{done:,} of {count(total, 'page')}" if total else ""
        self._live.update(self._tasks[place], completed=done, total=total, pages=pages)

    def _end(self, place: str) -> None:
        if self._live and place in self._tasks:
            self._live.remove_task(self._tasks.pop(place))

    def _stop(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None
            self._tasks.clear()
