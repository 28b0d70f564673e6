"""Reads files in worker processes. A bomb, hang or crash affects only its own file."""

from __future__ import annotations

import atexit
import json
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue

import msgspec
from msgspec import Struct

from djinn_memory.documents.document import Document, ReadRequest
from djinn_memory.documents.worker import Message, PageDone, ReadDone, ReadRefused, too_large
from djinn_memory.errors import Unavailable, current_wording
from djinn_memory.system.interrupts import deferred
from djinn_memory.system.worker_process import (
    SECONDS_BETWEEN_CHECKS,
    Inbox,
    ProcessLimits,
    WorkerBroken,
    WorkerProcess,
    WorkerReady,
    process_families,
)

STARTS_TO_TRY = 3

with deferred():
    DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class WorkerLimits(Struct, frozen=True):
    """The resources that reading a file may use."""

    seconds: float
    megabytes: int
    """Maximum memory of a worker and the programs it runs, in megabytes of 1,000,000 bytes."""
    workers: int


class FileStarted(Struct, frozen=True):
    """A worker has begun to read a file."""

    request: ReadRequest


class PagesRead(Struct, frozen=True):
    """The progress of a file. Pages read in quick succession share one event."""

    request: ReadRequest
    done: int
    total: int | None


class FileRead(Struct, frozen=True):
    """A file was read."""

    request: ReadRequest
    document: Document


class FileFailed(Struct, frozen=True):
    """A file cannot be read."""

    request: ReadRequest
    why: str
    """One line, without the file's name."""
    locked: bool = False
    """Whether the file needs a password."""


Event = FileStarted | PagesRead | FileRead | FileFailed


def read_all(
    requests: Iterable[ReadRequest],
    limits: WorkerLimits,
    reader: str = "djinn_memory.documents.read:read",
) -> Generator[Event, None, None]:
    """Read files in parallel. Yields FileStarted, PagesRead, and FileRead or FileFailed for each.

    `reader` is "module:function", imported in the workers. The limits apply even while the caller
    is busy between two events. No process outlives the generator, however it ends.
    """
    pool = _Pool(limits, reader)
    # Python closes a forgotten generator too late at exit: threads no longer run then.
    atexit.register(pool.stop)
    try:
        yield from pool.read(iter(requests))
    finally:
        pool.stop()
        atexit.unregister(pool.stop)


class _Pool:
    """The workers of one call of `read_all`."""

    def __init__(self, limits: WorkerLimits, reader: str) -> None:
        self._count = limits.workers
        words = type(current_wording())
        wording = f"{words.__module__}:{words.__qualname__}"
        self._arguments = [reader, str(limits.seconds), str(limits.megabytes), wording]
        seconds = f"{limits.seconds:g} s"
        self._limits = ProcessLimits(
            limits.seconds,
            limits.megabytes,
            too_long=f"took longer than {seconds}; raise documents.timeout to allow more",
            too_large=too_large(limits.megabytes),
            crashed="the reader crashed on this file ({})",
        )
        self._workers: list[WorkerProcess[ReadRequest]] = []
        self._inbox: Inbox = SimpleQueue()
        self._failed_starts = 0
        self._stopped = threading.Event()
        self._watch = threading.Thread(target=self._enforce_limits, daemon=True)

    def read(self, requests: Iterator[ReadRequest]) -> Iterator[Event]:
        self._watch.start()
        waiting: deque[ReadRequest] = deque()
        while True:
            waiting.extend(islice(requests, max(0, self._count - len(waiting))))
            for worker in self._workers:
                if waiting and worker.send(waiting[0], _request_line(waiting[0])):
                    yield FileStarted(waiting.popleft())
            if not waiting and not any(worker.task for worker in self._workers):
                return
            self._start_workers(len(waiting))
            # With a time-out, because on Windows Ctrl-C does not interrupt a wait without one.
            with suppress(Empty):
                worker, message = self._inbox.get(timeout=SECONDS_BETWEEN_CHECKS)
                if event := self._event(worker, message):
                    yield event

    def stop(self) -> None:
        """Kill all workers and wait until they have exited."""
        self._stopped.set()
        if self._workers:
            with deferred():
                for worker in self._workers:
                    worker.kill("stopped")
                while self._workers:
                    self._workers.pop().close()

    def _start_workers(self, wanted: int) -> None:
        starting = sum(not worker.ready for worker in self._workers)
        room = self._count - len(self._workers)
        for _ in range(min(wanted - starting, room)):
            with deferred():
                self._workers.append(
                    WorkerProcess(
                        "djinn_memory.documents.worker:main", self._arguments, self._limits,
                        self._inbox, DECODER.decode,
                    )
                )  # fmt: skip

    def _event(self, worker: WorkerProcess[ReadRequest], message: Message | None) -> Event | None:
        request = worker.task
        match message:
            case WorkerReady():
                self._failed_starts = 0
            case WorkerBroken(why):
                raise Unavailable(f"documents cannot be read ({why}); reinstall djinn-memory")
            case None:
                return self._end(worker)
            case PageDone(done, total) if request:
                return PagesRead(request, done, total)
            case ReadDone(document) if request:
                worker.finish()
                return FileRead(request, document)
            case ReadRefused(why, locked) if request:
                worker.finish()
                return FileFailed(request, _one_line(why), locked)
        return None

    def _end(self, worker: WorkerProcess[ReadRequest]) -> Event | None:
        self._workers.remove(worker)
        why = worker.close()
        if worker.task:
            return FileFailed(worker.task, why)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == STARTS_TO_TRY:
                raise Unavailable(
                    f"the process that reads documents did not start ({why}); try again"
                )
        return None

    def _enforce_limits(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_CHECKS):
            workers = list(self._workers)
            families = process_families([worker.process.pid for worker in workers])
            for worker in workers:
                worker.enforce_limits(families[worker.process.pid])


def _request_line(request: ReadRequest) -> bytes:
    """A request as `main` reads it, in ASCII, because a name may hold bytes that are not UTF-8."""
    parts = [str(request.path), request.name, request.password, request.ocr]
    return json.dumps(parts).encode() + b"\n"


def _one_line(text: str) -> str:
    """Text from a file or a library as one printable line for a message."""
    return "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for char in " ".join(text.split())
    )
