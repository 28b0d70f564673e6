"""The output of commands: data to stdout, messages to stderr, without control characters."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import typer

from djinn_memory.cli import streams
from djinn_memory.cli.layout import hanging, table
from djinn_memory.models import Problem, Progress, ProgressCallback
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.index.records import CatalogStats

# Control characters, and the marks that turn the direction of text: a note must not be able to
# move the cursor, set a title, or show a path as another.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """`text` on one line, without characters that control a terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))


def clean_lines(text: str) -> str:
    """`text` without characters that control a terminal; line breaks and tabs are kept."""
    return _UNSAFE.sub("\ufffd", text)


def width_of(stream: Any) -> int | None:
    """The columns of a stream's terminal; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def say(text: str = "", hang: int | None = None) -> None:
    """Print lines of data to stdout. At a terminal they are wrapped at words.

    `hang` is the indent of continuation lines; None derives it from each line.
    """
    typer.echo(hanging(text, width_of(sys.stdout), hang))


def say_verbatim(text: str) -> None:
    """Print a text to be copied, with unchanged line ends."""
    typer.echo(text)


def say_long(text: str) -> None:
    """Print a text of any size unchanged, in parts: each is copied several times on its way."""
    for start in range(0, len(text), 1 << 20):
        typer.echo(text[start : start + (1 << 20)], nl=False)


def talk(text: str) -> None:
    """Print a message to stderr, for the person at the terminal."""
    typer.echo(hanging(text, width_of(sys.stderr)), err=True)


def rule() -> None:
    """Print a line between entries, at a terminal only."""
    if width := width_of(sys.stdout):
        say_verbatim(dim("─" * width))


def is_dumb() -> bool:
    """Whether the terminal supports no escapes."""
    return os.environ.get("TERM") == "dumb"


def shows_links(stream: Any = None) -> bool:
    """Whether a stream, by default stdout, is a terminal that supports links.

    `NO_COLOR` turns links off, too.
    """
    return not (is_dumb() or os.environ.get("NO_COLOR")) and (stream or sys.stdout).isatty()


def link(text: str, file: str, stream: Any = None) -> str:
    """`text` as a link to an absolute path, if the stream shows links; see `shows_links`."""
    if not file or not shows_links(stream):
        return text
    return f"\x1b]8;;{Path(file).as_uri()}\x1b\\{text}\x1b]8;;\x1b\\"


def dim(text: str) -> str:
    """`text` dimmed, if the output has colours."""
    return typer.style(text, dim=True)


def warn(text: str) -> None:
    """Print a warning to stderr."""
    talk(f"{typer.style('warning', fg='yellow')}: {text}")


def shortened(text: str | None, most: int) -> str:
    """`text` on one line, cut to `most` characters."""
    line = clean(text or "")
    return line if len(line) <= most else f"{line[: most - 1]}…"


def problems(listed: Sequence[Problem], *, most: int = 20) -> None:
    """Print each problem as a line on stderr."""
    for problem in listed[:most]:
        warn(f"{clean(problem.what)}: {clean(problem.why)}")
    if len(listed) > most:
        talk(f"... and {len(listed) - most} more; `--json` lists them all")


def as_json(
    schema: str, answer: object, problems: Sequence[Problem] | None = (), *, indent: int | None = 2
) -> None:
    """Print one JSON object on stdout: the schema, the answer and the problems.

    If the schema has no `problems`, the object has none.
    """
    import json

    import msgspec

    data: dict[str, Any] = {"schema": f"djinn.{schema}/1"}
    data |= msgspec.to_builtins(answer, enc_hook=str)
    if problems is not None:
        data["problems"] = msgspec.to_builtins(problems)
    if "milliseconds" in data:
        data["milliseconds"] = round(data["milliseconds"], 1)
    text = json.dumps(data, ensure_ascii=False, indent=indent, allow_nan=False)
    # Control characters for a terminal occur only inside strings, where JSON can escape them.
    text = _UNSAFE.sub(lambda unsafe: f"\\u{ord(unsafe[0]):04x}", text)
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def place(record: Any) -> str:
    """The vault and the path of a record, on one line."""
    return clean(f"{record.vault}/{record.path}")


def columns(
    rows: Iterable[Sequence[object]], *, head: str = "", empty: str = "", files: Sequence[str] = ()
) -> None:
    """Print rows in aligned columns. The heading is printed only at a terminal.

    `head` contains a word for each column. `empty` is printed at a terminal when there are no rows.
    `files` are the absolute paths to which the last cells of the rows link.
    """
    listed = [[clean(str(cell)) for cell in row] for row in rows]
    if not listed and empty:
        talk(empty)
    width = width_of(sys.stdout)
    for row, file in zip(listed, files, strict=False):
        row[-1] = link(row[-1], file)
    if head and listed and width is not None:
        listed.insert(0, [typer.style(name, bold=True) for name in head.split()])
    for line in table(listed, width):
        say_verbatim(line)


def sizes(stats: CatalogStats) -> str:
    """Such as `2 notes, 5 chunks`, and the number of memories where a note has several."""
    several = stats.memories != stats.notes
    memories = f"{count(stats.memories, 'memory')}, " if several else ""
    return f"{count(stats.notes, 'note')}, {memories}{count(stats.chunks, 'chunk')}"


def print_page(skip: int, shown: int, total: int, noun: str) -> None:
    """Print on stderr which part of a list is shown, if it is not the whole list."""
    if 0 < shown < total:
        end = skip + shown
        following = f"; --offset {end} shows the next" if end < total else ""
        talk(f"{skip + 1:,} to {end:,} of {count(total, noun)}{following}")


Held: TypeAlias = tuple[int, str]
"""A text, and the descriptor of the stream on which it is written."""

holding: ContextVar[tuple[list[Held], ExitStack] | None] = ContextVar("holding", default=None)
"""Where a process that runs the commands of others puts what they page, because a pager needs the
terminal of its command, and what ends this: later messages belong behind the page."""


class _HeldStream(io.StringIO):
    """A terminal's stream that holds what is written. `held` lists it for several streams."""

    encoding = "utf-8"

    def __init__(self, descriptor: int, held: list[Held]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._held = held

    def isatty(self) -> bool:
        """It is formatted as for a terminal."""
        return True

    def write(self, text: str, /) -> int:
        """Hold a text."""
        length = super().write(text)
        self._held.append((self._descriptor, text))
        return length


@contextmanager
def paged() -> Iterator[None]:
    """Print what the block prints at its end: in a pager, if it is longer than the terminal."""
    if is_dumb() or not sys.stdout.isatty():
        yield
        return
    held, end = holding.get() or ([], ExitStack())
    for descriptor in (1, 2):
        name = streams.NAMES[descriptor]
        if getattr(sys, name).isatty():
            end.enter_context(streams.using(name, _HeldStream(descriptor, held)))
    try:
        yield
    finally:
        if holding.get() is None:
            end.close()
            show(held)


def show(held: Sequence[Held]) -> None:
    """Print what was held: in a pager, if it is longer than the terminal."""
    from djinn_memory.system.programs import page

    text = "".join(part for _, part in held)
    fits = text.count("\n") < shutil.get_terminal_size().lines
    if fits or not page(text):
        for descriptor, part in held:
            stream = sys.stdout if descriptor == 1 else sys.stderr
            stream.write(part)
            stream.flush()


EVERY = 5.0
"""Minimum seconds between two lines about the same stage in a log."""


class Bars:
    """Live progress bars on stderr, for a person at a terminal."""

    def __init__(self) -> None:
        self._live: Any = None
        self._tasks: dict[str, Any] = {}

    def show(self, key: str, label: str, done: int, total: int | None, counts: str) -> None:
        """Update the progress bar of a stage."""
        if self._live is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Live

            self._live = Live(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[counts]}", markup=False),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
                # Rich would send the output for stdout to stderr, and leave the cursor behind
                # the bars: see `aside`.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        if key not in self._tasks:
            self._tasks[key] = self._live.add_task(label, total=total, counts="")
        self._live.update(self._tasks[key], completed=done, total=total, counts=counts)

    def end(self, key: str) -> None:
        """Remove the bar of a finished stage."""
        if key in self._tasks:
            self._live.remove_task(self._tasks.pop(key))
        if not self._tasks:
            self.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Hide the bars during the block, so that it can print lines."""
        if self._live:
            self._live.stop()
        yield
        if self._live:
            self._live.start()

    def stop(self) -> None:
        """Remove all bars."""
        if self._live:
            self._live.stop()
        self._live, self._tasks = None, {}


class ProgressLine:
    """Shows a run's progress on stderr: a live bar at a terminal, occasional lines in a log."""

    _LABELS: ClassVar = {
        "read": "reading",
        "import": "importing, in kB:",
        "record": "recording",
        "embed": "embedding",
        "prepare": "preparing",
        "check": "checking",
        "pull": "receiving",
        "push": "sending",
    }

    def __init__(self) -> None:
        self._bars = Bars()
        self._began = self._spoke = time.monotonic()
        self._stage = ""

    def __enter__(self) -> ProgressCallback:
        return self._show

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def _show(self, progress: Progress) -> None:
        stage, done, total = progress.stage, progress.done, progress.total or 0
        if stage in ("prepare", "wait"):
            self._bars.stop()
            if progress.total is None:
                talk(progress.note)
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._spoke = stage, now, now
        rate = done / (now - self._began) if now > self._began else 0.0
        counts = f"{done:,} of {total:,}, {rate:,.0f}/s"
        if sys.stderr.isatty():
            label = f"{self._LABELS[stage]} {progress.note}".strip()
            self._bars.show(label, label, done, total, counts)
        elif now - self._spoke > EVERY and total and rate:
            self._spoke = now
            talk(f"{self._LABELS[stage]} {counts}, {(total - done) / rate:,.0f} s left")


def progress_line(quiet: bool) -> AbstractContextManager[ProgressCallback]:
    """A progress display. With `--json` it only says for which process the command waits."""
    return nullcontext(_waits) if quiet else ProgressLine()


def _waits(progress: Progress) -> None:
    if progress.stage == "wait":
        talk(progress.note)
