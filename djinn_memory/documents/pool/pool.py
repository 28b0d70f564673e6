"""Reads files in processes of their own: a bomb, a hang or a crash costs only its file."""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue

from msgspec import Struct

from djinn_memory.documents.document import Document, ReadRequest
from djinn_memory.documents.pool.process import (
    SECONDS_BETWEEN_LOOKS,
    STARTS_TO_TRY,
    Heard,
    WorkerLimits,
    WorkerProcess,
    families,
)
from djinn_memory.documents.pool.worker import (
    Message,
    PageDone,
    ReadDone,
    ReaderBroken,
    ReaderReady,
    ReadRefused,
)
from djinn_memory.errors import Unavailable
from djinn_memory.system.interrupts import deferred


class FileStarted(Struct, frozen=True):
    """A worker has begun to read a file."""

    order: ReadRequest


class PagesRead(Struct, frozen=True):
    """Pages of a file are done; not each is told of."""

    order: ReadRequest
    done: int
    total: int | None


class FileRead(Struct, frozen=True):
    """A file is read."""

    order: ReadRequest
    document: Document


class FileFailed(Struct, frozen=True):
    """A file gives no document."""

    order: ReadRequest
    why: str
    """One line, without the file's name."""
    locked: bool = False
    """Whether a password is wanted."""


Event = FileStarted | PagesRead | FileRead | FileFailed


def read_all(
    orders: Iterable[ReadRequest],
    limits: WorkerLimits,
    reader: str = "djinn_memory.documents.read:read",
) -> Generator[Event, None, None]:
    """Read files side by side; each tells Started, Page as often as need be, and Read or Failed.

    `reader` is "module:function", imported in the workers. Limits hold while the caller is busy
    between two events. No process outlives the generator, whichever way it ends.
    """
    crew = _Crew(limits, reader)
    # A generator that nobody closed is closed at exit too late: threads do not run then.
    atexit.register(crew.dismiss)
    try:
        yield from crew.read(iter(orders))
    finally:
        crew.dismiss()
        atexit.unregister(crew.dismiss)


class _Crew:
    """The workers of one call."""

    def __init__(self, limits: WorkerLimits, reader: str) -> None:
        self._limits = limits
        self._reader = reader
        self._workers: list[WorkerProcess] = []
        self._heard: Heard = SimpleQueue()
        self._bad_starts = 0
        self._dismissed = threading.Event()
        self._watch = threading.Thread(target=self._judge, daemon=True)

    def read(self, orders: Iterator[ReadRequest]) -> Iterator[Event]:
        self._watch.start()
        waiting: deque[ReadRequest] = deque()
        while True:
            waiting.extend(islice(orders, max(0, self._limits.workers - len(waiting))))
            for worker in self._workers:
                if waiting and worker.give(waiting[0]):
                    yield FileStarted(waiting.popleft())
            if not waiting and not any(worker.order for worker in self._workers):
                return
            self._hire(len(waiting))
            # A time-out, as Windows does not let Ctrl-C into a wait without one.
            with suppress(Empty):
                worker, message = self._heard.get(timeout=SECONDS_BETWEEN_LOOKS)
                if event := self._event(worker, message):
                    yield event

    def dismiss(self) -> None:
        """End all workers, and wait until they are gone."""
        self._dismissed.set()
        if self._workers:
            with deferred():
                for worker in self._workers:
                    worker.kill("dismissed")
                while self._workers:
                    self._workers.pop().bury()

    def _hire(self, wanted: int) -> None:
        starting = sum(not worker.ready for worker in self._workers)
        room = self._limits.workers - len(self._workers)
        for _ in range(min(wanted - starting, room)):
            with deferred():
                self._workers.append(WorkerProcess(self._limits, self._reader, self._heard))

    def _event(self, worker: WorkerProcess, message: Message | None) -> Event | None:
        order = worker.order
        match message:
            case ReaderReady():
                self._bad_starts = 0
            case ReaderBroken(why):
                raise Unavailable(f"documents cannot be read ({why}); reinstall djinn-memory")
            case None:
                return self._ended(worker)
            case PageDone(done, total) if order:
                return PagesRead(order, done, total)
            case ReadDone(document) if order:
                worker.done()
                return FileRead(order, document)
            case ReadRefused(why, locked) if order:
                worker.done()
                return FileFailed(order, _one_line(why), locked)
        return None

    def _ended(self, worker: WorkerProcess) -> Event | None:
        self._workers.remove(worker)
        why = worker.bury()
        if worker.order:
            return FileFailed(worker.order, why)
        if not worker.ready:
            self._bad_starts += 1
            if self._bad_starts == STARTS_TO_TRY:
                raise Unavailable(f"no process to read documents starts ({why}); try again")
        return None

    def _judge(self) -> None:
        while not self._dismissed.wait(SECONDS_BETWEEN_LOOKS):
            workers = list(self._workers)
            found = families([worker.process.pid for worker in workers])
            for worker in workers:
                worker.judge(found[worker.process.pid])


def _one_line(text: str) -> str:
    """Text of a file or a library as it may stand in a message."""
    line = " ".join(text.split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line
    )
