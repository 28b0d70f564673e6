"""Access to the terminal and to piped input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.output import progress_line

if TYPE_CHECKING:
    from djinn_memory.models import Progress, ProgressCallback


def interruptible() -> None:
    """Turn Ctrl-C into an exception from here on, so that a long run or a question can clean up."""
    import signal

    signal.signal(signal.SIGINT, signal.default_int_handler)


def rebuilding(*, quiet: bool) -> ProgressCallback:
    """Show progress only for unexpected long work: rebuilding an index."""
    show = progress_line(quiet).__enter__()

    def tell(progress: Progress) -> None:
        # Messages of a model being prepared are problems of the answer, printed with it.
        if progress.stage != "prepare" or progress.total:
            show(progress)

    return tell


def text_from_stdin() -> str:
    """The text that is piped into the command. Raises `UsageError` if it is not text or empty."""
    import sys

    from djinn_memory.errors import UsageError
    from djinn_memory.notes.vault import MAX_BYTES

    interruptible()
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        read = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("stdin is not UTF-8 text; convert it first") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"stdin has more than {MAX_BYTES:,} bytes; split the text")
    if "\0" in read:
        raise UsageError("stdin is binary, not text")
    if not read.strip():
        raise UsageError("stdin is empty; pipe a text into the command")
    return read
