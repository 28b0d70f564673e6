"""Tells a process that lives long that nothing happened in its vaults, so it need not look.

Linux only: there the kernel queues an event before the call that made the change returns, so that
an empty queue is a proof. Elsewhere, and on disks that tell nothing, nothing is ever sure.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable, Sequence

from djinn_memory.models import Vault
from djinn_memory.system.disks import network

LONGEST_SECONDS = 60.0
"""After so long a look is taken anyway: a write through a memory map makes no event."""

_EVENTS = (
    0x2  # modify
    | 0x4  # attributes
    | 0x40 | 0x80  # moved from, moved to
    | 0x100 | 0x200  # create, delete
    | 0x400 | 0x800  # the folder itself deleted, moved
    | 0x1000000 | 0x2000000  # only folders, no links
)  # fmt: skip
_OTHER_FOLDERS = 0x40000000 | 0x8000 | 0x4000 | 0x2000 | 0x400 | 0x800
"""A folder's event, or one that says that not all is told any more."""
_HEAD = struct.Struct("iIII")


class ChangeWatch:
    """Which vaults are known to be as they were when they were looked at last."""

    def __init__(self, skipped: Callable[[str], bool]) -> None:
        """`skipped` tells by its name whether a folder holds no notes and is not watched."""
        self._skipped = skipped
        self._queues: dict[Vault, _Queue] = {}

    def still(self, vaults: Sequence[Vault]) -> bool:
        """Whether these are surely as they were when `looked` was told of them."""
        return all(vault in self._queues and self._queues[vault].still() for vault in vaults)

    def listen(self, vaults: Sequence[Vault]) -> None:
        """Hear what happens from now on: to be called before a look is taken."""
        for vault in vaults:
            known = self._queues.get(vault)
            if known and not known.whole:
                known.close()
                del self._queues[vault]
            if vault not in self._queues and (made := _listening(vault, self._skipped)):
                self._queues[vault] = made

    def looked(self, vaults: Sequence[Vault]) -> None:
        """A look at them since `listen` found nothing to do."""
        for vault in vaults:
            if queue := self._queues.get(vault):
                queue.looked()

    def close(self) -> None:
        """Be sure of nothing any more."""
        for queue in self._queues.values():
            queue.close()
        self._queues.clear()


class _Queue:
    """The kernel's events of some folders."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._looked: float | None = None
        self.whole = True
        """Whether events of all folders come, as far as is known."""

    def looked(self) -> None:
        self._looked = time.monotonic()

    def still(self) -> bool:
        self._drain()
        return self._looked is not None and time.monotonic() - self._looked < LONGEST_SECONDS

    def _drain(self) -> None:
        while self.whole:
            try:
                told = os.read(self._descriptor, 65536)
            except BlockingIOError:
                return
            except OSError:
                told = b""
            self._looked = None
            self.whole = bool(told)
            while told:
                _, mask, _, length = _HEAD.unpack_from(told)
                self.whole = self.whole and not mask & _OTHER_FOLDERS
                told = told[_HEAD.size + length :]
        self._looked = None

    def close(self) -> None:
        os.close(self._descriptor)


def _listening(vault: Vault, skipped: Callable[[str], bool]) -> _Queue | None:
    """A queue for the folders of a vault; None where the system does not give it."""
    if sys.platform != "linux" or network(vault.root):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    queue = _Queue(descriptor)
    folders = [os.fsencode(vault.root.resolve())]
    try:
        while folders:
            folder = folders.pop()
            # Before it is listed: a folder that is made in between is told of.
            if libc.inotify_add_watch(descriptor, folder, _EVENTS) < 0:
                raise OSError
            with os.scandir(folder) as entries:
                folders += [
                    one.path
                    for one in entries
                    if one.is_dir(follow_symlinks=False) and not skipped(os.fsdecode(one.name))
                ]
    except OSError:
        queue.close()
        return None
    return queue
