"""Worker processes under limits of time and memory: the parent's side and the worker's side."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Generic, TypeVar

from msgspec import Struct

Task = TypeVar("Task")

# How often memory and time are checked: a program fills about 300 MB in this time.
SECONDS_BETWEEN_CHECKS = 0.1
# A worker starts in 0.1 s; a machine that needs this long for it does no work either.
SECONDS_TO_START = 60.0
# A kill takes effect at once, unless the process waits for a disk or a network that is gone.
SECONDS_TO_DIE = 5.0
# Between the end of a process's pipe and the end of the process.
SECONDS_TO_END = 1.0
# multiprocessing would run the caller's `__main__` again in each worker. This starts a Python with
# the caller's import path and nothing else.
START = (
    "import sys; function, count, *rest = sys.argv[1:]; count = int(count); "
    "sys.path[:] = rest[count:]; "
    "from pkgutil import resolve_name; resolve_name(function)(*rest[:count])"
)
# Workers run side by side, and a pool of threads in each reserves address space for each core.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


class WorkerReady(Struct, frozen=True, tag="ready"):
    """The worker's first message: it accepts tasks."""


class WorkerBroken(Struct, frozen=True, tag="broken"):
    """The worker's first message if it cannot work."""

    why: str


class TaskEnded(Struct, frozen=True):
    """The base of the last message about a task."""


class ProcessLimits(Struct, frozen=True):
    """The limits of one worker, and the reasons reported when it exceeds them."""

    seconds: float
    megabytes: int
    """Maximum memory of the worker and the programs it runs, in megabytes of 1,000,000 bytes."""
    too_long: str
    too_large: str
    crashed: str
    """Text with `{}` for a description of the worker's exit."""


Inbox = SimpleQueue[tuple["WorkerProcess[Any]", Any]]
"""The messages of all workers; None after a worker's last message."""


class WorkerProcess(Generic[Task]):
    """A worker process and its current task. Its decoded messages go to `inbox`.

    The process runs `function`, named as "module:function", with `arguments`. It reads a task from
    each line of its standard input, and writes each message as a line.
    """

    def __init__(
        self,
        function: str,
        arguments: list[str],
        limits: ProcessLimits,
        inbox: Inbox,
        decode: Callable[[bytes], Any],
    ) -> None:
        self.task: Task | None = None
        self.ready = False
        self.kill_reason = ""
        self.lock = threading.Lock()
        """Held while a task is sent or limits are checked, so that only the task at fault is
        killed."""
        self._limits = limits
        self._inbox = inbox
        self._decode = decode
        self._deadline = time.monotonic() + SECONDS_TO_START
        self._size = 0
        self._killed = False
        command = [function, str(len(arguments)), *arguments, *sys.path]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT | dict(os.environ),
            # Ctrl-C reaches the parent only, and the worker's own programs can be killed with it.
            start_new_session=True,
        )
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def send(self, task: Task, line: bytes) -> bool:
        """Send a task as `line`; False if the worker cannot take one now."""
        with self.lock:
            if not self.ready or self.task or self.kill_reason:
                return False
            self._size = self._size or _resident([self.process.pid])
            assert self.process.stdin
            try:
                self.process.stdin.write(line)
                self.process.stdin.flush()
            except OSError:
                return False
            self.task = task
            self._deadline = time.monotonic() + self._limits.seconds
            return True

    def finish(self) -> None:
        """Clear the current task, and kill a worker that has kept much of its memory."""
        self.task = None
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
                self.kill(self._limits.too_long if self.ready else "too slow to start")
            elif self.task and _resident(family) > self._limits.megabytes * 1_000_000:
                self.kill(self._limits.too_large)

    def kill(self, reason: str) -> None:
        """Kill the worker and its programs. Only the first reason is kept."""
        self.kill_reason = self.kill_reason or reason
        self._kill_family()

    def close(self) -> str:
        """Wait for a worker that was killed or has closed its pipe. Returns the reason."""
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
            return self._limits.too_long
        return self._limits.crashed.format(_describe_exit(code))

    def _exit_code(self) -> int | None:
        """The process's exit code after its end; None if it survives a kill."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS_TO_DIE if self.kill_reason else SECONDS_TO_END)
        if self.process.returncode is None:
            self.kill(self._limits.crashed.format("it has closed its pipe"))
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
            message = None
            with suppress(Exception):  # a crashing library may write any bytes
                message = self._decode(line)
            if self.ready and (message is None or isinstance(message, WorkerReady | WorkerBroken)):
                self.kill(self._limits.crashed.format("garbled answer"))
                break
            if message is None:
                continue  # a starting Python may print: sitecustomize, .pth files
            if isinstance(message, WorkerReady):
                self.ready = True
            if isinstance(message, WorkerReady | TaskEnded):
                self._deadline = math.inf
            self._inbox.put((self, message))
        if len(line) == longest:
            self.kill(self._limits.too_large)
        self._inbox.put((self, None))


def process_families(leaders: list[int]) -> dict[int, list[int]]:
    """The ids of the processes that each worker runs, with the worker's own first."""
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
    """The bytes of memory that processes use. A process that has ended uses none."""
    import psutil

    total = 0
    for pid in pids:
        with suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total


def _describe_exit(code: int | None) -> str:
    """A description of how a process ended."""
    if code is None:
        return "it cannot be ended"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"exit code {code}"


def worker_pipes() -> tuple[SimpleQueue[bytes], BinaryIO]:
    """In the worker: the lines of its tasks, and the pipe for its messages.

    The standard streams are discarded, because libraries print, from Python or from C. When the
    parent no longer exists, the worker ends at once. The parent handles Ctrl-C.
    """
    tasks, messages = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_queue_lines, args=(os.fdopen(tasks, "rb"), lines), daemon=True).start()
    return lines, os.fdopen(messages, "wb")


def _queue_lines(tasks: BinaryIO, lines: SimpleQueue[bytes]) -> None:
    with suppress(OSError):
        for line in tasks:
            lines.put(line)
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def limit_memory(megabytes: int) -> None:
    """In the worker: a second limit, for a task that takes all memory between two checks.

    It limits the address space beyond what is already used. macOS does not enforce it.
    """
    used = 0
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        used = int(pages) * os.sysconf("SC_PAGESIZE")
    _limit("RLIMIT_AS", used + megabytes * 1_000_000)
    # A crash would write the memory of the process, and so the user's text, to the disk.
    _limit("RLIMIT_CORE", 0)


def limit_seconds(seconds: float) -> None:
    """In the worker: a second limit, for a task that loops in C without releasing the GIL."""
    _limit("RLIMIT_CPU", math.ceil(time.process_time() + seconds))


def _limit(name: str, value: int) -> None:
    """Set a soft limit of this process, which may be raised again. Windows has none."""
    if sys.platform == "win32":
        return
    import resource

    limit = getattr(resource, name)
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(limit, (value, hard))
