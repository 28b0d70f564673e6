"""Locks between processes, held through files. The system releases the lock of a killed process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from djinn_memory.errors import Busy, Unavailable
from djinn_memory.system.files import make_folder
from djinn_memory.system.waits import Wait


@contextmanager
def lock(
    path: Path, *, timeout: float = 10.0, pulse: Callable[[], object] | None = lambda: None
) -> Iterator[bool]:
    """Hold the file `path` as a lock between processes. The lock is not reentrant.

    Yields whether the process that held it before was killed meanwhile.

    `timeout` limits the time without progress. The wait starts again when another process takes the
    lock, and when `pulse`, which shows that the holder advances, returns a new value. Without a
    `pulse`, `timeout` limits the whole wait. The budget of the operation limits it too; see
    `waits`. Raises `Busy` after that time, and `Unavailable` when the lock file cannot be created.
    A long wait is announced with the holder.
    """
    from filelock import FileLock, Timeout

    file_lock = FileLock(path, timeout=0, mode=0o600)

    def acquire() -> bool:
        try:
            file_lock.acquire()
        except Timeout:
            return False
        return True

    try:
        make_folder(path.parent, private=True)
        _wait(acquire, path, timeout, pulse)
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be locked: {error.strerror}; check the file and its permissions"
        ) from None
    try:
        killed = bool(_signature(path))
        _write_signature(path)
        yield killed
    finally:
        # A process that is killed leaves its signature.
        with suppress(OSError):
            os.truncate(path, 0)
        file_lock.release()


CLAIM_SECONDS = 0.3
"""Seconds for which a held claim is tried: `is_locked` takes the lock for a moment."""


@contextmanager
def claim(path: Path, taken: Callable[[str], str]) -> Iterator[None]:
    """Hold a lock as the only process with a duty.

    Raises `Busy` with the text that `taken` makes of the name of the process that has it.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock(path, timeout=CLAIM_SECONDS))
        except Busy:
            holder = f"process {lock_holder(path) or 'of another user'}"
            raise Busy(taken(holder)) from None
        yield


def _wait(
    acquire: Callable[[], bool], path: Path, timeout: float, pulse: Callable[[], object] | None
) -> None:
    if acquire():
        return
    wait = Wait(path, timeout, lambda: _holder(path))
    last_beat: object = None
    while True:
        beat = (_signature(path), pulse()) if pulse else None
        if beat != last_beat:
            last_beat = beat
            wait.restart()
        if not wait.pause(0.005, 0.05):
            raise Busy(f"{_holder(path)} is using {path}; try again when it has finished")
        if acquire():
            wait.end()
            return


def _holder(path: Path) -> str:
    number = lock_holder(path)
    return "another djinn process" + (f" (pid {number})" if number else "")


def _write_signature(path: Path) -> None:
    """Write into the lock file which process holds it, and since when. Failures are ignored."""
    # Windows locks the first byte, so the signature starts after it.
    flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    with suppress(OSError), os.fdopen(os.open(path, flags), "wb") as file:
        file.write(f" {os.getpid()} {time.time_ns()}\n".encode())


def _signature(path: Path) -> bytes:
    with suppress(OSError), path.open("rb", buffering=0) as file:
        file.seek(1)
        return file.read(100)
    return b""


def lock_holder(path: Path) -> int | None:
    """The id of the process that holds, or last held, the lock `path`; None when unknown."""
    number = _signature(path).split(b" ", 1)[0]
    return int(number) if number.isdigit() else None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock `path` now. This does not write to the file."""
    from filelock import FileLock, Timeout

    if not path.exists():
        return False
    probe = FileLock(path, timeout=0, mode=0o600)
    try:
        probe.acquire()
    except Timeout:
        return True
    except OSError:
        return False
    probe.release()
    return False
