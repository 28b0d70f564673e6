"""The parent's side of a worker process, and the limits that it enforces."""

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
    request_line,
    too_large,
)
from djinn_memory.system.interrupts import deferred

# How often memory and time are checked: a program fills about 300 MB in this time.
SECONDS_BETWEEN_CHECKS = 0.1
# A worker starts in 0.1 s; a machine that needs this long for it reads no document either.
SECONDS_TO_START = 60.0
STARTS_TO_TRY = 3
# A kill takes effect at once, unless the process waits for a disk or a network that is gone.
SECONDS_TO_DIE = 5.0
# Between the end of a process's pipe and the end of the process.
SECONDS_TO_END = 1.0
# multiprocessing would run the caller's `__main__` again in each worker. This starts a Python with
# the caller's import path and nothing else.
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
    """The resources that reading may take."""

    seconds: float
    megabytes: int
    """Millions of bytes that a worker and the programs it runs may hold together."""
    workers: int


Inbox = SimpleQueue[tuple["WorkerProcess", Message | None]]
"""The messages of all workers; None after the last message of a worker."""


class WorkerProcess:
    """A worker process and the request that it carries out; its messages go to `inbox`."""

    def __init__(self, limits: WorkerLimits, reader: str, inbox: Inbox) -> None:
        self.request: ReadRequest | None = None
        self.ready = False
        self.kill_reason = ""
        self.lock = threading.Lock()
        """Held to send a request and to check the limits, so that no file is killed for another."""
        self._limits = limits
        self._inbox = inbox
        self._deadline = time.monotonic() + SECONDS_TO_START
        self._size = 0
        self._killed = False
        arguments = [reader, str(limits.seconds), str(limits.megabytes)]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *arguments, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT | dict(os.environ),
            # Ctrl-C reaches the parent only, and the worker's own programs can be killed with it.
            start_new_session=True,
        )
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def send(self, request: ReadRequest) -> bool:
        """Send a request; False if the worker cannot take one now."""
        with self.lock:
            if not self.ready or self.request or self.kill_reason:
                return False
            self._size = self._size or _resident([self.process.pid])
            assert self.process.stdin
            try:
                self.process.stdin.write(request_line(request))
                self.process.stdin.flush()
            except OSError:
                return False
            self.request = request
            self._deadline = time.monotonic() + self._limits.seconds
            return True

    def finish(self) -> None:
        """Forget the request, and kill a worker that has kept much of the file's memory."""
        self.request = None
        grown = _resident([self.process.pid]) - self._size
        if grown > self._limits.megabytes * 1_000_000 / 4:
            self.kill("has grown")

    def enforce_limits(self, family: list[int]) -> None:
        """Kill the worker if it takes too long, or if its `family` takes too much memory."""
        with self.lock:
            if self.kill_reason or self.process.returncode is not None:
                return
            if self.process.poll() is not None:
                # A program that it runs may hold its pipe open.
                self._kill_family()
            elif time.monotonic() > self._deadline:
                self.kill(_too_long(self._limits.seconds) if self.ready else "too slow to start")
            elif self.request and _resident(family) > self._limits.megabytes * 1_000_000:
                self.kill(too_large(self._limits.megabytes))

    def kill(self, reason: str) -> None:
        """Kill the worker and its programs; the first reason counts."""
        self.kill_reason = self.kill_reason or reason
        self._kill_family()

    def close(self) -> str:
        """Wait for the end of a worker that was killed or has closed its pipe; returns why."""
        code = self._exit_code()
        self._receiver.join(SECONDS_TO_DIE if code is not None else 0)
        if not self._receiver.is_alive():
            for pipe in (self.process.stdin, self.process.stdout):
                with suppress(OSError):
                    if pipe:
                        pipe.close()
        if self.kill_reason:
            return self.kill_reason
        if code is not None and -code == getattr(signal, "SIGXCPU", None):
            return _too_long(self._limits.seconds)
        return _crashed(_describe_exit(code))

    def _exit_code(self) -> int | None:
        """The process's exit code after its end; None if even a kill does not end it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_DIE if self.kill_reason else SECONDS_TO_END)
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
        # After the process is reaped its id may be given to another: kill the family only once.
        self._killed = self.process.returncode is not None
        if sys.platform == "win32":
            for pid in process_families([self.process.pid])[self.process.pid][1:]:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def _receive(self) -> None:
        """Decode the worker's messages until one is malformed or the pipe is closed."""
        assert self.process.stdout
        longest = self._limits.megabytes * 1_000_000
        while (line := self.process.stdout.readline(longest)).endswith(b"\n"):
            message: Message | None = None
            with suppress(Exception):  # a crashing library may write any bytes
                message = DECODER.decode(line)
            if self.ready and (message is None or isinstance(message, ReaderReady | ReaderBroken)):
                self.kill(_crashed("garbled answer"))
                break
            if message is None:
                continue  # a starting Python may print: sitecustomize, .pth files
            if isinstance(message, ReaderReady):
                self.ready = True
            if isinstance(message, ReaderReady | ReadDone | ReadRefused):
                self._deadline = math.inf
            self._inbox.put((self, message))
        if len(line) == longest:
            self.kill(too_large(self._limits.megabytes))
        self._inbox.put((self, None))


def process_families(leaders: list[int]) -> dict[int, list[int]]:
    """The ids of the processes that each worker runs, its own first."""
    import psutil  # type: ignore[import-untyped,unused-ignore]

    families = {leader: [leader] for leader in leaders}
    if sys.platform == "win32":
        for leader in leaders:
            with suppress(psutil.Error):
                children = psutil.Process(leader).children(recursive=True)
                families[leader] += [child.pid for child in children]
        return families
    for pid in psutil.pids():
        # A worker leads a session; to ask for it costs a hundredth of asking for the parent.
        with suppress(OSError):
            leader = os.getsid(pid)
            if leader in families and leader != pid:
                families[leader].append(pid)
    return families


def _resident(pids: list[int]) -> int:
    """The bytes of memory that processes hold; a process that has ended holds none."""
    import psutil

    total = 0
    for pid in pids:
        with suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total


def _too_long(seconds: float) -> str:
    return f"took longer than {seconds:g} s; raise documents.timeout to allow more"


def _crashed(how: str) -> str:
    return f"the reader crashed on it ({how})"


def _describe_exit(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "it cannot be ended"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
