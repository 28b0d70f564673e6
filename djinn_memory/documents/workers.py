"""Reads files in processes of their own: a bomb, a hang or a crash costs only its file."""

from __future__ import annotations

import atexit
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue

import msgspec
from msgspec import Struct

from djinn_memory.documents.document import Document, Order
from djinn_memory.documents.worker import (
    Broken,
    Gave,
    Message,
    Paged,
    Ready,
    Refused,
    order_line,
    too_large,
)
from djinn_memory.errors import Unavailable
from djinn_memory.interrupts import deferred

# How often memory and time are looked at: a program fills about 300 MB in this time.
SECONDS_BETWEEN_LOOKS = 0.1
# A worker starts in 0.1 s; a machine that needs this long for it reads no document either.
SECONDS_TO_START = 60.0
STARTS_TO_TRY = 3
# A kill takes effect at once, unless the process waits for a disk or a network that is gone.
SECONDS_TO_DIE = 5.0
# Between the end of a process's pipe and its own.
SECONDS_TO_END = 1.0
# What multiprocessing does with the caller's `__main__`, run again in each worker, is not wanted:
# this starts from the caller's import path and nothing else.
START = (
    "import sys; reader, seconds, megabytes, *sys.path = sys.argv[1:]; "
    "from djinn_memory.documents.worker import main; main(reader, float(seconds), int(megabytes))"
)
# Workers run side by side, and a pool of threads in each reserves address space for each core.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}

with deferred():
    DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class Limits(Struct, frozen=True):
    """What a file may cost."""

    seconds: float
    megabytes: int
    """Millions of bytes that the worker and the programs it runs may hold together."""
    workers: int


class Started(Struct, frozen=True):
    """A worker has begun to read a file."""

    order: Order


class Page(Struct, frozen=True):
    """Pages of a file are done; not each is told of."""

    order: Order
    done: int
    total: int | None


class Read(Struct, frozen=True):
    """A file is read."""

    order: Order
    document: Document


class Failed(Struct, frozen=True):
    """A file gives no document."""

    order: Order
    why: str
    """One line, without the file's name."""
    locked: bool = False
    """Whether a password is wanted."""


Event = Started | Page | Read | Failed


def read_all(
    orders: Iterable[Order], limits: Limits, reader: str = "djinn_memory.documents.read:read"
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


Heard = SimpleQueue[tuple["_Worker", Message | None]]


class _Worker:
    """A process, the order it has, and what it is heard to say; at its end it says None."""

    def __init__(self, limits: Limits, reader: str, heard: Heard) -> None:
        self.order: Order | None = None
        self.ready = False
        self.sentence = ""
        """Why it was killed."""
        self.lock = threading.Lock()
        """Held to hand over an order, and to judge one, so that none is blamed for the last."""
        self._limits = limits
        self._heard = heard
        self._until = time.monotonic() + SECONDS_TO_START
        self._size = 0
        self._killed = False
        arguments = [reader, str(limits.seconds), str(limits.megabytes)]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *arguments, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT | dict(os.environ),
            # Ctrl-C at the terminal is for the parent, and what it runs can be killed with it.
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def give(self, order: Order) -> bool:
        """Hand over an order; False if it cannot take one."""
        with self.lock:
            if not self.ready or self.order or self.sentence:
                return False
            self._size = self._size or _resident([self.process.pid])
            assert self.process.stdin
            try:
                self.process.stdin.write(order_line(order))
                self.process.stdin.flush()
            except OSError:
                return False
            self.order = order
            self._until = time.monotonic() + self._limits.seconds
            return True

    def done(self) -> None:
        """Forget the order; a worker that has kept much of the file's memory is of no more use."""
        self.order = None
        grown = _resident([self.process.pid]) - self._size
        if grown > self._limits.megabytes * 1_000_000 / 4:
            self.kill("has grown")

    def judge(self, family: list[int]) -> None:
        """Kill it if it takes too long or, with the other processes of its family, too much."""
        with self.lock:
            if self.sentence or self.process.returncode is not None:
                return
            if self.process.poll() is not None:
                # What it ran may hold its pipe open.
                self._kill_family()
            elif time.monotonic() > self._until:
                self.kill(_too_long(self._limits.seconds) if self.ready else "too slow to start")
            elif self.order and _resident(family) > self._limits.megabytes * 1_000_000:
                self.kill(too_large(self._limits.megabytes))

    def kill(self, sentence: str) -> None:
        self.sentence = self.sentence or sentence
        self._kill_family()

    def bury(self) -> str:
        """Wait for the end of a process that was killed or has gone silent, and say what it was."""
        code = self._code()
        self._listener.join(SECONDS_TO_DIE if code is not None else 0)
        if not self._listener.is_alive():
            for pipe in (self.process.stdin, self.process.stdout):
                with suppress(OSError):
                    if pipe:
                        pipe.close()
        if self.sentence:
            return self.sentence
        if code is not None and -code == getattr(signal, "SIGXCPU", None):
            return _too_long(self._limits.seconds)
        return _crashed(_end(code))

    def _code(self) -> int | None:
        """The process's exit code, once it has ended; None if not even a kill ends it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_DIE if self.sentence else SECONDS_TO_END)
        if self.process.returncode is None:
            self.kill(_crashed("it has closed its pipe"))
        else:
            self._kill_family()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_DIE)
        return self.process.returncode

    def _kill_family(self) -> None:
        if self._killed:
            return
        # Once the process is buried its number may be given to another; the family goes first.
        self._killed = self.process.returncode is not None
        if sys.platform == "win32":
            for pid in _families([self.process.pid])[self.process.pid][1:]:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def _listen(self) -> None:
        """Decode what the process says, as long as it makes sense."""
        assert self.process.stdout
        longest = self._limits.megabytes * 1_000_000
        while (line := self.process.stdout.readline(longest)).endswith(b"\n"):
            message = _decoded(line)
            if self.ready and (message is None or isinstance(message, Ready | Broken)):
                self.kill(_crashed("garbled answer"))
                break
            if message is None:
                continue  # what the start of a Python may print: sitecustomize, .pth files
            if isinstance(message, Ready):
                self.ready = True
            if isinstance(message, Ready | Gave | Refused):
                self._until = math.inf
            self._heard.put((self, message))
        if len(line) == longest:
            self.kill(too_large(self._limits.megabytes))
        self._heard.put((self, None))


class _Crew:
    """The workers of one call."""

    def __init__(self, limits: Limits, reader: str) -> None:
        self._limits = limits
        self._reader = reader
        self._workers: list[_Worker] = []
        self._heard: Heard = SimpleQueue()
        self._bad_starts = 0
        self._dismissed = threading.Event()
        self._watch = threading.Thread(target=self._judge, daemon=True)

    def read(self, orders: Iterator[Order]) -> Iterator[Event]:
        self._watch.start()
        waiting: deque[Order] = deque()
        while True:
            waiting.extend(islice(orders, max(0, self._limits.workers - len(waiting))))
            for worker in self._workers:
                if waiting and worker.give(waiting[0]):
                    yield Started(waiting.popleft())
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
                self._workers.append(_Worker(self._limits, self._reader, self._heard))

    def _event(self, worker: _Worker, message: Message | None) -> Event | None:
        order = worker.order
        match message:
            case Ready():
                self._bad_starts = 0
            case Broken(why):
                raise Unavailable(f"documents cannot be read ({why}); reinstall djinn-memory")
            case None:
                return self._ended(worker)
            case Paged(done, total) if order:
                return Page(order, done, total)
            case Gave(document) if order:
                worker.done()
                return Read(order, document)
            case Refused(why, locked) if order:
                worker.done()
                return Failed(order, _one_line(why), locked)
        return None

    def _ended(self, worker: _Worker) -> Event | None:
        self._workers.remove(worker)
        why = worker.bury()
        if worker.order:
            return Failed(worker.order, why)
        if not worker.ready:
            self._bad_starts += 1
            if self._bad_starts == STARTS_TO_TRY:
                raise Unavailable(f"no process to read documents starts ({why}); try again")
        return None

    def _judge(self) -> None:
        while not self._dismissed.wait(SECONDS_BETWEEN_LOOKS):
            workers = list(self._workers)
            families = _families([worker.process.pid for worker in workers])
            for worker in workers:
                worker.judge(families[worker.process.pid])


def _families(leaders: list[int]) -> dict[int, list[int]]:
    """The processes that each worker runs, itself the first."""
    import psutil  # type: ignore[import-untyped,unused-ignore]

    found = {leader: [leader] for leader in leaders}
    if sys.platform == "win32":
        for leader in leaders:
            with suppress(psutil.Error):
                children = psutil.Process(leader).children(recursive=True)
                found[leader] += [child.pid for child in children]
        return found
    for pid in psutil.pids():
        # A worker leads a session; to ask for it costs a hundredth of asking for the parent.
        try:
            leader = os.getsid(pid)
        except OSError:
            continue
        if leader in found and leader != pid:
            found[leader].append(pid)
    return found


def _resident(pids: list[int]) -> int:
    """The bytes of memory that processes hold; none if they have ended."""
    import psutil

    total = 0
    for pid in pids:
        with suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total


def _decoded(line: bytes) -> Message | None:
    try:
        return DECODER.decode(line)
    except Exception:
        return None


def _too_long(seconds: float) -> str:
    return f"took longer than {seconds:g} s; raise documents.timeout to allow more"


def _crashed(how: str) -> str:
    return f"the reader crashed on it ({how})"


def _end(code: int | None) -> str:
    """How a process ended, as a person knows it."""
    if code is None:
        return "it cannot be ended"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


def _one_line(text: str) -> str:
    """Text of a file or a library as it may stand in a message."""
    line = " ".join(text.split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line
    )
