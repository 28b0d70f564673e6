"""Shows the progress of files that workers read: live lines at a terminal, else a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from djinn_memory.cli.output import EVERY, Bars, clean, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.documents.pool import Event
    from djinn_memory.memories.library.requests import FileOutcome


class FileLines:
    """The progress display of `djinn ingest`. `settled` prints the outcome of a file."""

    def __init__(self, quiet: bool, settled: Callable[[FileOutcome], None]) -> None:
        self._quiet = quiet
        self._settled = settled
        self._bars = Bars()
        self._spoke: dict[str, float] = {}

    def __enter__(self) -> FileLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def tell(self, event: Event | FileOutcome) -> None:
        """Show the start, the progress or the end of a file."""
        from djinn_memory.documents.pool import FileStarted, PagesRead
        from djinn_memory.memories.library.requests import FileOutcome

        if self._quiet:
            return
        if isinstance(event, FileOutcome):
            self._bars.end(event.file)
            try:
                with self._bars.aside():
                    self._settled(event)
            except BrokenPipeError:
                # Who reads along, `head` say, has enough; the files are to be done all the same.
                self._quiet = True
        elif isinstance(event, FileStarted | PagesRead):
            place = str(event.request.path)
            done, total = (event.done, event.total) if isinstance(event, PagesRead) else (0, None)
            name = clean(event.request.name)
            if sys.stderr.isatty():
                pages = f"{done:,} of {count(total, 'page')}" if total else ""
                self._bars.show(place, name, done, total, pages)
            else:
                self._word(place, name, done, total)

    def ask(self, name: str, why: str) -> str | None:
        """Ask for a password at the terminal. None for an empty answer."""
        self._bars.stop()
        talk(f"{clean(name)} {clean(why.partition(';')[0])}")
        answer: str = typer.prompt(
            "Password (empty to skip it)", hide_input=True, default="", show_default=False, err=True
        )
        return answer or None

    def no_answer(self, name: str, why: str) -> str | None:
        """The answer when no terminal is available."""
        return None

    def _word(self, place: str, name: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._spoke.setdefault(place, now) > EVERY:
            self._spoke[place] = now
            of = f"{done:,} of " if total else ""
            talk(f"{name}: {of}{count(total or done, 'page')} read")
