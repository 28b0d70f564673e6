"""The main function of a worker process: it reads files one after another."""

from __future__ import annotations

import errno
import json
import math
import time
from pathlib import Path
from pkgutil import resolve_name
from typing import BinaryIO

import msgspec

from djinn_memory.documents.document import (
    Document,
    Locked,
    Reader,
    ReadRequest,
    ReportPages,
    Unreadable,
)
from djinn_memory.errors import wording
from djinn_memory.system.worker_process import (
    TaskEnded,
    WorkerBroken,
    WorkerReady,
    limit_memory,
    limit_seconds,
    worker_pipes,
)

# Address space is more than memory: libraries map files, and reserve room for threads they never
# use. pdfium, pdfplumber, numpy, onnxruntime and markitdown take 370 MB of it on two cores, and a
# pool of threads takes 8 MB more for each further core.
SPARE_MEGABYTES = 2_000
# The parent stops a file that takes too long; this limit is for a worker that lost its parent.
SPARE_SECONDS = 10
# A document of thousands of pages must not send thousands of messages.
SECONDS_BETWEEN_PAGES = 0.1
LONGEST_REASON = 300


class PageDone(msgspec.Struct, frozen=True, tag="paged"):
    """The progress of the current file."""

    done: int
    total: int | None


class ReadDone(TaskEnded, frozen=True, tag="gave"):
    """The file was read."""

    document: Document


class ReadRefused(TaskEnded, frozen=True, tag="refused"):
    """The file cannot be read."""

    why: str
    locked: bool = False


Message = WorkerReady | WorkerBroken | PageDone | ReadDone | ReadRefused


def main(reader: str, seconds: str, megabytes: str, words: str) -> None:
    """Read a request from each line of stdin, and answer each with `Message`s on stdout.

    `reader` is the reader, and `words` the class that words the remedies.
    """
    memory = int(megabytes)
    lines, messages = worker_pipes()
    try:
        read: Reader = resolve_name(reader)
        wording.set(resolve_name(words)())
    except Exception as error:
        _send(messages, WorkerBroken(_describe(error)))
        raise
    limit_memory(memory + SPARE_MEGABYTES)
    _send(messages, WorkerReady())
    while True:
        path, name, password, ocr = json.loads(lines.get())
        limit_seconds(float(seconds) + SPARE_SECONDS)
        request = ReadRequest(Path(path), name, password, ocr)
        message = _answer(read, request, _reporter(messages), memory)
        try:
            _send(messages, message)
        except MemoryError:
            _send(messages, ReadRefused(too_large(memory)))


def too_large(megabytes: int) -> str:
    """The reason why a file that needs too much memory is not read."""
    return f"needs more than {megabytes:,} MB of memory; raise documents.memory to allow more"


def _answer(read: Reader, request: ReadRequest, report: ReportPages, megabytes: int) -> Message:
    try:
        document = read(request, report)
        if not isinstance(document, Document):
            raise TypeError(f"the reader returned {type(document).__name__}, not a document")
        return ReadDone(document)
    except Unreadable as error:
        return ReadRefused(str(error), locked=isinstance(error, Locked))
    except BaseException as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return ReadRefused(too_large(megabytes))
        reason = error.strerror if isinstance(error, OSError) else None
        return ReadRefused(reason or f"cannot be read ({_describe(error)})")


def _describe(error: BaseException) -> str:
    """The error's name, and the first line of its text if it has one."""
    first = "".join(str(error).strip().splitlines()[:1])[:LONGEST_REASON]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _reporter(messages: BinaryIO) -> ReportPages:
    last = -math.inf

    def report(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_PAGES or done == total:
            last = now
            _send(messages, PageDone(done, total))

    return report


def _send(messages: BinaryIO, message: Message) -> None:
    try:
        line = msgspec.json.encode(message)
    except UnicodeEncodeError:
        # The character maps of PDFs contain halves of surrogate pairs; join those in pairs.
        text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False)
        halves = text.encode("utf-16-le", "surrogatepass")
        line = halves.decode("utf-16-le", "replace").encode()
    messages.write(line + b"\n")
    messages.flush()
