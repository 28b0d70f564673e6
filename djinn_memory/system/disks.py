"""What is known of the disk under a folder: which file system, whether a sync client copies it."""

from __future__ import annotations

import os
from pathlib import Path

NETWORK = frozenset({
    "9p", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gcsfuse",
    "glusterfs", "gpfs", "grpcfuse", "gvfsd-fuse", "lustre", "ncpfs", "nfs", "nfs4", "osxfs",
    "panfs", "prl_fs", "rclone", "s3fs", "smb", "smb2", "smb3", "smbfs", "sshfs", "vboxsf",
    "virtiofs", "vmhgfs", "vmhgfs-fuse", "webdav", "webdavfs",
})  # fmt: skip
"""File systems of which another machine, or the host of this one, has the files: locks and events
are not to be relied on."""

_SYNCED = ("dropbox", "onedrive", "icloud", "mobile documents", "google drive", "googledrive",
           "nextcloud", "owncloud", "syncthing", "pcloud", "creative cloud files")  # fmt: skip
_MARKS = (".stfolder", ".dropbox", ".dropbox.cache", ".nextcloudsync.log", ".owncloudsync.log",
          ".sync_folder", ".tmp.driveupload")  # fmt: skip


def network(path: Path) -> str | None:
    """The kind of the network file system that `path` lies on; None for a disk of this machine."""
    import psutil

    real = path.resolve()
    best, kind = -1, ""
    for one in psutil.disk_partitions(all=True):
        mount = Path(one.mountpoint)
        # Of two at one place the later covers the earlier.
        if real.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), one.fstype.lower()
    return kind if kind.removeprefix("fuse.") in NETWORK else None


def synced(path: Path) -> Path | None:
    """The folder above `path`, or itself, that a sync client seems to copy elsewhere."""
    real = path.resolve()
    for folder in (real, *real.parents):
        name = folder.name.lower()
        if any(name == one or name.startswith(f"{one} ") for one in _SYNCED):
            return folder
        if name.startswith(("onedrive -", "icloud~", "com~apple~clouddocs", "googledrive-")):
            return folder
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return None


def open_to(path: Path, bits: int) -> bool:
    """Whether every user of this machine has these permission bits on `path` and can get there."""
    if os.name != "posix":
        return False
    real = path.resolve()
    reachable = all(folder.stat().st_mode & 0o001 for folder in real.parents)
    return reachable and bool(real.stat().st_mode & bits)
