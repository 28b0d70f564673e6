"""Writing to disk so that a reader, a crash or a second process never sees half of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from djinn_memory.errors import OutsideVault, Unavailable


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step, durable when this returns; its mode is kept.

    A symbolic link is followed, so that the file it names changes and the link stays.
    """
    path = path.resolve()
    temporary = path.with_name(f".djinn-{os.urandom(8).hex()}.tmp")
    # Not tempfile: its files are the owner's alone, and a note is as open as its folder.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def expand(path: str | Path) -> Path:
    """`path` with a leading `~` replaced; one that names no user stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path's own raises there


def inside(root: Path, relative: str | Path) -> Path:
    """`root / relative` with every link followed; `OutsideVault` when that leaves `root`."""
    base = root.resolve()
    # A NUL in the path and links in a circle lead nowhere.
    with suppress(ValueError, RuntimeError):
        target = (base / relative).resolve()
        if target.is_relative_to(base):
            return target
    raise OutsideVault(f"{relative} leads out of {root}; name a path inside it")


@contextmanager
def lock(path: Path, *, timeout: float = 10.0) -> Iterator[None]:
    """Hold `path` as a lock between processes; `Unavailable` after `timeout` seconds.

    It is not to be taken again inside, and `Unavailable` also where it cannot be made.
    The system releases it when its holder dies, so a killed process leaves no stale lock.
    """
    from filelock import FileLock, Timeout

    held = FileLock(path, timeout=timeout)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held.acquire()
    except Timeout:
        raise Unavailable(
            f"another djinn process holds {path}; try again when it has finished"
        ) from None
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be locked: {error.strerror}; check what lies there and its permissions"
        ) from None
    try:
        yield
    finally:
        held.release()


def held(path: Path) -> bool:
    """Whether a process holds `path` as a `lock` now."""
    if not path.exists():
        return False
    try:
        with lock(path, timeout=0):
            return False
    except Unavailable:
        return True
