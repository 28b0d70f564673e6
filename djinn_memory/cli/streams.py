"""The standard streams of a command. All are open, and a write failure does not interrupt it."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any


class _Output(io.FileIO):
    """A descriptor that keeps its first failure. Later writes are dropped.

    The work of a command matters more than its output. A reader that closes the pipe is not a
    failure, because it has read enough.
    """

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.failure = error
        return len(data)


def prepare() -> None:
    """Prepare the three standard streams. Call this before any other file is opened."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # A closed descriptor would go to the next file that is opened, a database perhaps.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    sys.stdout, sys.stderr = _wrapped(sys.stdout), _wrapped(sys.stderr)


def finish() -> str | None:
    """Flush stdout. Returns the reason if it could not be written, else None."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    failure = getattr(getattr(sys.stdout.buffer, "raw", None), "failure", None)
    return (failure.strerror or str(failure)) if failure else None


def _wrapped(stream: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        # A terminal that cannot show a character must not end the program.
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
