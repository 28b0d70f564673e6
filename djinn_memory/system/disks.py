"""The disk under a folder: its file system, what copies the folder, and whether it has changed.

A long-lived process knows that its vaults have not changed, which saves a scan. That works only on
Linux. There the kernel queues an event before the call that made the change returns, so an empty
queue is proof. Elsewhere, and on network disks, no vault ever counts as unchanged.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from djinn_memory.models import Vault

NETWORK = frozenset({
    "9p", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gcsfuse",
    "glusterfs", "gpfs", "grpcfuse", "gvfsd-fuse", "lustre", "ncpfs", "nfs", "nfs4", "osxfs",
    "panfs", "prl_fs", "rclone", "s3fs", "smb", "smb2", "smb3", "smbfs", "sshfs", "vboxsf",
    "virtiofs", "vmhgfs", "vmhgfs-fuse", "webdav", "webdavfs",
})  # fmt: skip
"""File systems whose files are on another machine, or on the host of this one. Locks and events are
unreliable there."""

_SYNCED = ("dropbox", "onedrive", "icloud", "mobile documents", "google drive", "googledrive",
           "nextcloud", "owncloud", "syncthing", "pcloud", "creative cloud files")  # fmt: skip
_SYNCED_STARTS = ("onedrive -", "icloud~", "com~apple~clouddocs", "googledrive-",
                  *(f"{name} " for name in _SYNCED))  # fmt: skip
_MARKS = (".stfolder", ".dropbox", ".dropbox.cache", ".nextcloudsync.log", ".owncloudsync.log",
          ".sync_folder", ".tmp.driveupload")  # fmt: skip


def network(path: Path) -> str | None:
    """The kind of network file system that holds `path`; None for a local disk."""
    import psutil

    real = path.resolve()
    longest, kind = -1, ""
    for partition in psutil.disk_partitions(all=True):
        mount = Path(partition.mountpoint)
        # When two are mounted at one place, the later covers the earlier.
        if real.is_relative_to(mount) and len(mount.parts) >= longest:
            longest, kind = len(mount.parts), partition.fstype.lower()
    return kind if kind.removeprefix("fuse.") in NETWORK else None


def synced(path: Path) -> Path | None:
    """`path` or the folder above it that a sync client seems to copy, or None."""
    real = path.resolve()
    for folder in (real, *real.parents):
        name = folder.name.lower()
        if name in _SYNCED or name.startswith(_SYNCED_STARTS):
            return folder
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return None


def paths_open_to_others(root: Path) -> list[Path]:
    """The folders and files at and below `root` that other users can access."""
    if os.name != "posix":
        return []
    paths = [root]
    for folder, inner, names in os.walk(root):
        paths += [Path(folder, name) for name in (*inner, *names)]
    shared = []
    for path in sorted(paths):
        # Files come and go while they are looked at.
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if mode & 0o077 and not stat.S_ISLNK(mode):
                shared.append(path)
    return shared


def open_to_everyone(path: Path, bits: int) -> bool:
    """Whether every user of this machine can reach `path` and has these permission bits on it."""
    if os.name != "posix":
        return False
    real = path.resolve()
    reachable = all(folder.stat().st_mode & 0o001 for folder in real.parents)
    return reachable and bool(real.stat().st_mode & bits)


LONGEST_SECONDS = 60.0
"""Maximum time between two scans: a write through a memory map creates no event."""

_EVENTS = (
    0x2  # modify
    | 0x4  # attributes
    | 0x40 | 0x80  # moved from, moved to
    | 0x100 | 0x200  # create, delete
    | 0x400 | 0x800  # the folder itself deleted, moved
    | 0x1000000 | 0x2000000  # only folders, no links
)  # fmt: skip
_INCOMPLETE = 0x40000000 | 0x8000 | 0x4000 | 0x2000 | 0x400 | 0x800
"""Flags of an event for a folder or a lost event. Some folders may then not be watched."""
_HEAD = struct.Struct("iIII")


class ChangeWatch:
    """Knows which vaults have not changed since their last scan.

    A scan needs two calls: `listen` before it, and `mark_scanned` after it if it found no changes.
    """

    def __init__(self, skipped: Callable[[str], bool]) -> None:
        """`skipped` tests by name whether a folder contains no notes and is not watched."""
        self._skipped = skipped
        self._queues: dict[Vault, _EventQueue] = {}

    def unchanged(self, vaults: Sequence[Vault]) -> bool:
        """Whether all of `vaults` are certainly as they were at their last scan."""
        return all(vault in self._queues and self._queues[vault].empty() for vault in vaults)

    def scans(self, vaults: Sequence[Vault]) -> tuple[float | None, ...] | None:
        """When `vaults` were last scanned; None unless they are certainly unchanged since then."""
        if not self.unchanged(vaults):
            return None
        return tuple(self._queues[vault].scanned for vault in vaults)

    def listen(self, vaults: Sequence[Vault]) -> None:
        """Start collecting the events of `vaults`."""
        for vault in vaults:
            known = self._queues.get(vault)
            if known and not known.complete:
                known.close()
                del self._queues[vault]
            if vault not in self._queues and (queue := _open_queue(vault, self._skipped)):
                self._queues[vault] = queue

    def mark_scanned(self, vaults: Sequence[Vault]) -> None:
        """Record that a scan begun after `listen` found `vaults` up to date."""
        for vault in vaults:
            if queue := self._queues.get(vault):
                queue.scanned = time.monotonic()

    def close(self) -> None:
        """Stop listening. No vault counts as unchanged afterwards."""
        for queue in self._queues.values():
            queue.close()
        self._queues.clear()


class _EventQueue:
    """The kernel's queue of the events in some folders."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.scanned: float | None = None
        """The time of the last scan without changes; None after an event."""
        self.complete = True
        """Whether every folder is watched, as far as known."""

    def empty(self) -> bool:
        """Whether no event arrived since the last scan, and the scan is recent."""
        self._drain()
        return self.scanned is not None and time.monotonic() - self.scanned < LONGEST_SECONDS

    def _drain(self) -> None:
        while self.complete:
            try:
                events = os.read(self._descriptor, 65536)
            except BlockingIOError:
                return
            except OSError:
                events = b""
            self.scanned = None
            self.complete = bool(events)
            while events:
                _, mask, _, length = _HEAD.unpack_from(events)
                self.complete = self.complete and not mask & _INCOMPLETE
                events = events[_HEAD.size + length :]
        self.scanned = None

    def close(self) -> None:
        os.close(self._descriptor)


def _open_queue(vault: Vault, skipped: Callable[[str], bool]) -> _EventQueue | None:
    """A queue for the folders of a vault; None where the system does not support it."""
    if sys.platform != "linux" or network(vault.root):
        return None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    queue = _EventQueue(descriptor)
    folders = [os.fsencode(vault.root.resolve())]
    try:
        while folders:
            folder = folders.pop()
            # Watched before it is listed, so that a folder created in between makes an event.
            if libc.inotify_add_watch(descriptor, folder, _EVENTS) < 0:
                raise OSError
            with os.scandir(folder) as entries:
                inner = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
                folders += [child.path for child in inner if not skipped(os.fsdecode(child.name))]
    except OSError:
        queue.close()
        return None
    return queue
