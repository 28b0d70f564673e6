"""The worker process: it reads files one after another, and ends when its parent does."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import BinaryIO

import msgspec
from msgspec import Struct

from djinn_memory.documents.document import (
    Document,
    Locked,
    Reader,
    ReadRequest,
    ReportPages,
    Unreadable,
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


class ReaderReady(Struct, frozen=True, tag="ready"):
    """The reader is imported; requests may come."""


class ReaderBroken(Struct, frozen=True, tag="broken"):
    """The reader cannot be imported, so no file can be read."""

    why: str


class PageDone(Struct, frozen=True, tag="paged"):
    """The progress of the current file."""

    done: int
    total: int | None


class ReadDone(Struct, frozen=True, tag="gave"):
    """The file is read."""

    document: Document


class ReadRefused(Struct, frozen=True, tag="refused"):
    """The file cannot be read."""

    why: str
    locked: bool = False


Message = ReaderReady | ReaderBroken | PageDone | ReadDone | ReadRefused


def main(reader: str, seconds: float, megabytes: int) -> None:
    """Read a request from each line of stdin, and answer each with `Message`s on stdout."""
    requests, messages = _take_over_pipes()
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, lines), daemon=True).start()
    try:
        read: Reader = resolve_name(reader)
    except Exception as error:
        _send(messages, ReaderBroken(_describe(error)))
        raise
    # A backstop for a file that takes all memory between two checks by the parent. The limit is
    # one of address space, above what is used already. macOS does not enforce it.
    _limit("RLIMIT_AS", _address_space() + (megabytes + SPARE_MEGABYTES) * 1_000_000)
    # A crash would write the memory of the process, and so the user's text, to the disk.
    _limit("RLIMIT_CORE", 0)
    _send(messages, ReaderReady())
    while True:
        path, name, password, ocr = json.loads(lines.get())
        # A backstop for a file that loops in C with the interpreter's lock when the parent dies.
        _limit("RLIMIT_CPU", math.ceil(time.process_time() + seconds + SPARE_SECONDS))
        request = ReadRequest(Path(path), name, password, ocr)
        message = _answer(read, request, _reporter(messages), megabytes)
        try:
            _send(messages, message)
        except MemoryError:
            _send(messages, ReadRefused(too_large(megabytes)))


def request_line(request: ReadRequest) -> bytes:
    """A request as `main` reads it: ASCII, because a name may hold bytes that are no UTF-8."""
    parts = [str(request.path), request.name, request.password, request.ocr]
    return json.dumps(parts).encode() + b"\n"


def too_large(megabytes: int) -> str:
    """The reason why a file that needs too much memory is not read."""
    return f"needs more than {megabytes:,} MB of memory; raise documents.memory to allow more"


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes. The standard streams are discarded: libraries print, from Python or from C."""
    requests, messages = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    return os.fdopen(requests, "rb"), os.fdopen(messages, "wb")


def _receive(requests: BinaryIO, lines: SimpleQueue[bytes]) -> None:
    """Queue requests until the parent is gone, then end this process whatever it is doing."""
    with suppress(OSError):
        for line in requests:
            lines.put(line)
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _answer(read: Reader, request: ReadRequest, report: ReportPages, megabytes: int) -> Message:
    try:
        document = read(request, report)
        if not isinstance(document, Document):
            raise TypeError(f"the reader gave {type(document).__name__}, no document")
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
    text = str(error).strip()
    first = text.splitlines()[0][:LONGEST_REASON] if text else ""
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


def _address_space() -> int:
    """The bytes of address space that this process uses, on Linux."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * os.sysconf("SC_PAGESIZE")
    return 0


def _limit(name: str, value: int) -> None:
    """Set a soft limit of this process, which may be raised again; Windows has none."""
    if sys.platform == "win32":
        return
    import resource

    limit = getattr(resource, name)
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(limit, (value, hard))
