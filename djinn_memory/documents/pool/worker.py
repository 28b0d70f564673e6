"""The process that reads files for `workers`, one after another, and ends with its parent."""

from __future__ import annotations

import errno
import importlib
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import msgspec
from msgspec import Struct

from djinn_memory.documents.document import Document, Locked, ReadRequest, Tell, Unreadable

Reader = Callable[[ReadRequest, Tell], Document]

# Address space is more than memory: libraries map files and reserve room for threads they never
# use. pdfium, pdfplumber, numpy, onnxruntime and markitdown take 370 MB of it on two cores, and a
# pool of threads takes 8 MB more for each further core.
SPARE_MEGABYTES = 2_000
# The parent ends a file that takes too long; this is for a worker that has lost its parent.
SPARE_SECONDS = 10
# A document of thousands of pages must not send thousands of messages.
SECONDS_BETWEEN_PAGES = 0.1
LONGEST_REASON = 300


class ReaderReady(Struct, frozen=True, tag="ready"):
    """The reader is imported; orders may come."""


class ReaderBroken(Struct, frozen=True, tag="broken"):
    """The reader cannot be imported, so no order can be carried out."""

    why: str


class PageDone(Struct, frozen=True, tag="paged"):
    """How far the reader is."""

    done: int
    total: int | None


class ReadDone(Struct, frozen=True, tag="gave"):
    """The order is carried out."""

    document: Document


class ReadRefused(Struct, frozen=True, tag="refused"):
    """The order cannot be carried out."""

    why: str
    locked: bool = False


Message = ReaderReady | ReaderBroken | PageDone | ReadDone | ReadRefused


def main(reader: str, seconds: float, megabytes: int) -> None:
    """Carry out orders, a line of JSON each on stdin, and answer each by `Message`s on stdout."""
    orders, answers = _take_over_the_pipes()
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders, lines), daemon=True).start()
    try:
        module, _, function = reader.partition(":")
        read: Reader = getattr(importlib.import_module(module), function)
    except Exception as error:
        _send(answers, ReaderBroken(_spelled(error)))
        raise
    _limit_memory(megabytes)
    _send(answers, ReaderReady())
    while True:
        path, name, password, ocr = json.loads(lines.get())
        _limit_seconds(seconds)
        order = ReadRequest(Path(path), name, password, ocr)
        message = _carried_out(read, order, _teller(answers), megabytes)
        try:
            _send(answers, message)
        except MemoryError:
            _send(answers, ReadRefused(too_large(megabytes)))


def order_line(order: ReadRequest) -> bytes:
    """An order as `main` takes it: ASCII, for a name may hold bytes that are no UTF-8."""
    parts = [str(order.path), order.name, order.password, order.ocr]
    return json.dumps(parts).encode() + b"\n"


def too_large(megabytes: int) -> str:
    """Why a file is given up that wants more memory than it may have."""
    return f"needs more than {megabytes:,} MB of memory; raise documents.memory to allow more"


def _take_over_the_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes; what a library then prints, from Python or from C, goes nowhere."""
    orders, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return os.fdopen(orders, "rb"), os.fdopen(answers, "wb")


def _listen(orders: BinaryIO, lines: SimpleQueue[bytes]) -> None:
    """Take orders until the parent is gone, then end this process whatever it is doing."""
    with suppress(OSError):
        for line in orders:
            lines.put(line)
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _carried_out(read: Reader, order: ReadRequest, tell: Tell, megabytes: int) -> Message:
    try:
        document = read(order, tell)
        if not isinstance(document, Document):
            raise TypeError(f"the reader gave {type(document).__name__}, no document")
    except Locked as locked:
        return ReadRefused(str(locked), locked=True)
    except Unreadable as unreadable:
        return ReadRefused(str(unreadable))
    except MemoryError:
        return ReadRefused(too_large(megabytes))
    except OSError as error:
        if error.errno == errno.ENOMEM:
            return ReadRefused(too_large(megabytes))
        return ReadRefused(error.strerror or f"cannot be read ({_spelled(error)})")
    except BaseException as error:
        return ReadRefused(f"cannot be read ({_spelled(error)})")
    return ReadDone(document)


def _spelled(error: BaseException) -> str:
    """The error's name, and the first line of its text if it has one."""
    text = str(error).strip()
    first = text.splitlines()[0][:LONGEST_REASON] if text else ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _teller(answers: BinaryIO) -> Tell:
    last = -math.inf

    def tell(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_PAGES or done == total:
            last = now
            _send(answers, PageDone(done, total))

    return tell


def _send(answers: BinaryIO, message: Message) -> None:
    answers.write(_line(message))
    answers.flush()


def _line(message: Message) -> bytes:
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        # Halves of surrogate pairs, which PDFs' character maps give: joined where both are there.
        built = msgspec.to_builtins(message)
        return msgspec.json.encode(_without_surrogates(built)) + b"\n"


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {key: _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(each) for each in value]
    return value


def _limit_memory(megabytes: int) -> None:
    """A backstop for what takes more memory between two looks of the parent than there is.

    The limit is of address space, over what is taken already; macOS does not enforce it and
    Windows has none.
    """
    if sys.platform == "win32":
        return
    import resource

    taken = 0
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        taken = int(pages) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, taken + (megabytes + SPARE_MEGABYTES) * 1_000_000)
    # A crash would leave the memory of the process, and so the user's text, on the disk.
    _lower(resource.RLIMIT_CORE, 0)


def _limit_seconds(seconds: float) -> None:
    """A backstop for a file that loops in C with the interpreter's lock when the parent dies."""
    if sys.platform == "win32":
        return
    import resource

    used = time.process_time()
    _lower(resource.RLIMIT_CPU, math.ceil(used + seconds + SPARE_SECONDS))


def _lower(limit: int, to: int) -> None:
    """Set the soft limit, which may be raised again for the next file."""
    if sys.platform == "win32":
        return
    import resource

    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        to = min(to, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(limit, (to, hard))
