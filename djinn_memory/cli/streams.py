"""The standard streams of a command. All are open, and a write failure does not interrupt it."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

NAMES = ("stdin", "stdout", "stderr")


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
    for number, name in enumerate(NAMES):
        if getattr(sys, name) is None:
            # A closed descriptor would go to the next file that is opened, a database perhaps.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    sys.stdout, sys.stderr = _wrapped(sys.stdout), _wrapped(sys.stderr)


def finish(code: int) -> int:
    """Flush stdout. Returns the exit code of a command that ends with `code`.

    If stdout could not be written, this prints the reason.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    failure = getattr(getattr(sys.stdout.buffer, "raw", None), "failure", None)
    if not failure:
        return code
    done = "" if code else "; the command itself has finished"
    why = failure.strerror or str(failure)
    with suppress(OSError):
        os.write(sys.stderr.fileno(), f"error: stdout could not be written: {why}{done}\n".encode())
    return code or 5


class ThreadStream:
    """A standard stream that a thread can replace for itself alone.

    It has no weak references, so that Typer makes no lasting wrapper of it.
    """

    __slots__ = ("_local", "_shared")

    def __init__(self, shared: Any) -> None:
        self._shared = shared
        self._local = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._local, "stream", self._shared), name)

    @contextmanager
    def replaced(self, stream: Any) -> Iterator[None]:
        """Use another stream in this thread during the block."""
        before = getattr(self._local, "stream", self._shared)
        self._local.stream = stream
        try:
            yield
        finally:
            self._local.stream = before


def using(name: str, made: Any) -> AbstractContextManager[None]:
    """Use another stream as a standard stream of this thread during the block."""
    stream = getattr(sys, name)
    if not isinstance(stream, ThreadStream):
        stream = ThreadStream(stream)
        setattr(sys, name, stream)
    return stream.replaced(made)


@contextmanager
def replaced(files: Sequence[io.FileIO]) -> Iterator[None]:
    """Use descriptors as the standard streams of this thread, as `prepare` makes them."""
    with ExitStack() as stack:
        for number, (name, file) in enumerate(zip(NAMES, files, strict=True)):
            made: Any = open(  # noqa: SIM115
                file.fileno(),
                "w" if number else "r",
                buffering=1 if name == "stderr" else -1,
                encoding=getattr(sys, name).encoding,
                closefd=False,
            )
            made = _wrapped(made) if number else made
            stack.enter_context(using(name, made))
        yield


def _wrapped(stream: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        # A terminal that cannot show a character must not end the program.
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
