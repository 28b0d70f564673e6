"""One process that reads files, with the limits it is held to."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from queue import SimpleQueue

import msgspec
from msgspec import Struct

from djinn_memory.documents.document import ReadRequest
from djinn_memory.documents.pool.worker import (
    Message,
    ReadDone,
    ReaderBroken,
    ReaderReady,
    ReadRefused,
    order_line,
    too_large,
)
from djinn_memory.system.interrupts import deferred

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
    "from djinn_memory.documents.pool.worker import main; "
    "main(reader, float(seconds), int(megabytes))"
)
# Workers run side by side, and a pool of threads in each reserves address space for each core.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}

with deferred():
    DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class WorkerLimits(Struct, frozen=True):
    """What a file may cost."""

    seconds: float
    megabytes: int
    """Millions of bytes that the worker and the programs it runs may hold together."""
    workers: int


Heard = SimpleQueue[tuple["WorkerProcess", Message | None]]


class WorkerProcess:
    """A process, the order it has, and what it is heard to say; at its end it says None."""

    def __init__(self, limits: WorkerLimits, reader: str, heard: Heard) -> None:
        self.order: ReadRequest | None = None
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

    def give(self, order: ReadRequest) -> bool:
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
            for pid in families([self.process.pid])[self.process.pid][1:]:
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
            if self.ready and (message is None or isinstance(message, ReaderReady | ReaderBroken)):
                self.kill(_crashed("garbled answer"))
                break
            if message is None:
                continue  # what the start of a Python may print: sitecustomize, .pth files
            if isinstance(message, ReaderReady):
                self.ready = True
            if isinstance(message, ReaderReady | ReadDone | ReadRefused):
                self._until = math.inf
            self._heard.put((self, message))
        if len(line) == longest:
            self.kill(too_large(self._limits.megabytes))
        self._heard.put((self, None))


def families(leaders: list[int]) -> dict[int, list[int]]:
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
