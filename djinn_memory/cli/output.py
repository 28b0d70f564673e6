"""What commands print: data to stdout, talk to stderr, nothing that could command a terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import typer

from djinn_memory.models import Problem, Progress, ProgressCallback, silent

# Control characters, and the marks that turn the direction of text: a note must not be able to
# move the cursor, set a title, or show a path as another.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """`text` on one line and harmless to a terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))


def clean_lines(text: str) -> str:
    """`text` harmless to a terminal, its lines and tabs kept."""
    return _UNSAFE.sub("\ufffd", text)


def say(text: str = "", **style: Any) -> None:
    """A line of data."""
    typer.echo(typer.style(text, **style) if style else text)


def talk(text: str) -> None:
    """A line for the person at the terminal, not for a pipe."""
    typer.echo(text, err=True)


def dim(text: str) -> str:
    """`text` in the background, where there are colours."""
    return typer.style(text, dim=True)


def warn(text: str) -> None:
    """A warning for the person at the terminal."""
    talk(f"{typer.style('warning', fg='yellow')}: {text}")


def shortened(text: str | None, most: int) -> str:
    """`text` on one line, cut to `most` characters."""
    line = clean(text or "")
    return line if len(line) <= most else f"{line[: most - 1]}…"


def problems(listed: Sequence[Problem], *, most: int = 20) -> None:
    """A line for each problem, on stderr."""
    for problem in listed[:most]:
        warn(f"{clean(problem.what)}: {clean(problem.why)}")
    if len(listed) > most:
        talk(f"... and {len(listed) - most} more; `--json` lists them all")


def as_json(
    schema: str, answer: object, problems: Sequence[Problem] = (), *, indent: int | None = 2
) -> None:
    """One object on stdout and nothing else: the answer between its schema and the problems."""
    import json

    import msgspec

    data: dict[str, Any] = {"schema": f"djinn.{schema}/1"}
    data |= msgspec.to_builtins(answer, enc_hook=str)
    data["problems"] = msgspec.to_builtins(problems)
    if "milliseconds" in data:
        data["milliseconds"] = round(data["milliseconds"], 1)
    text = json.dumps(data, ensure_ascii=False, indent=indent, allow_nan=False)
    # What could command a terminal stands only inside strings, where it may as well be escaped.
    text = _UNSAFE.sub(lambda unsafe: f"\\u{ord(unsafe[0]):04x}", text)
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def columns(rows: Sequence[Sequence[str]], *, head: Sequence[str] = ()) -> None:
    """Rows in aligned columns; a head only where a person is looking."""
    listed = [[clean(cell) for cell in row] for row in rows]
    if head and sys.stdout.isatty():
        listed.insert(0, list(head))
    widths = [max((len(row[at]) for row in listed), default=0) for at in range(len(rows[0]))] \
        if rows else []  # fmt: skip
    for number, row in enumerate(listed):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        bold = number == 0 and len(listed) > len(rows)
        say(typer.style(line.rstrip(), bold=True) if bold else line.rstrip())


class ProgressLine:
    """Shows a run's progress on stderr: a live bar for a person, a line now and then for a log."""

    _LABELS: ClassVar = {
        "read": "reading",
        "embed": "embedding",
        "prepare": "preparing",
        "check": "checking",
    }
    _EVERY = 5.0

    def __init__(self) -> None:
        self._live: Any = None
        self._tasks: dict[str, Any] = {}
        self._began = self._spoke = time.monotonic()
        self._stage = ""

    def __enter__(self) -> ProgressCallback:
        return self._show

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._live:
            self._live.stop()
        self._live, self._tasks = None, {}

    def _show(self, progress: Progress) -> None:
        if progress.stage in ("prepare", "wait"):
            self._stop()
            if progress.total is None:
                talk(progress.note)
        elif sys.stderr.isatty():
            self._bar(progress)
        else:
            self._line(progress)

    def _line(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._began, self._spoke = progress.stage, now, now
        elif now - self._spoke > self._EVERY and progress.total:
            self._spoke = now
            rate = progress.done / (now - self._began)
            talk(
                f"{self._LABELS[progress.stage]} {progress.done:,} of {progress.total:,}, "
                f"{rate:,.0f}/s, {(progress.total - progress.done) / rate:,.0f} s left"
            )

    def _bar(self, progress: Progress) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Live

            self._live = Live(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=Console(stderr=True),
                transient=True,
            )
            self._live.start()
        label = f"{self._LABELS[progress.stage]} {progress.note}".strip()
        if label not in self._tasks:
            self._tasks[label] = self._live.add_task(label, total=progress.total, rate="")
        task = self._live.tasks[self._tasks[label]]
        rate = f"{task.speed:,.0f}/s" if task.speed else ""
        self._live.update(
            self._tasks[label], completed=progress.done, total=progress.total, rate=rate
        )


def progress_line(quiet: bool) -> ProgressLine | _NoProgress:
    """A progress display, or none for `--json`."""
    return _NoProgress() if quiet else ProgressLine()


class _NoProgress:
    def __enter__(self) -> ProgressCallback:
        return silent

    def __exit__(self, *_: object) -> None:
        pass
