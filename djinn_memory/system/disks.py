"""The disk under a folder: its file system, and whether a sync client copies the folder."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

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


def exposed(root: Path) -> list[Path]:
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


def open_to(path: Path, bits: int) -> bool:
    """Whether every user of this machine can reach `path` and has these permission bits on it."""
    if os.name != "posix":
        return False
    real = path.resolve()
    reachable = all(folder.stat().st_mode & 0o001 for folder in real.parents)
    return reachable and bool(real.stat().st_mode & bits)
