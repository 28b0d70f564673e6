"""Writing to disk so that a reader, a crash or a second process never sees half of it."""

from __future__ import annotations

import os
import random
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from djinn_memory.errors import Busy, Changed, OutsideVault, Unavailable

if TYPE_CHECKING:
    from filelock import BaseFileLock

Swap = Callable[[Path, Path], None]

_SCRATCH = re.compile(r"\.djinn-[0-9a-f]{16}\.tmp")
"""What `beside` calls a file; of another name it may be somebody's own."""

LEFT_SECONDS = 3600
"""A file that is still being written is younger."""

TELL_SECONDS = 1.0
"""Who waits longer is told what for."""


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step, durable when this returns; its mode is kept.

    A symbolic link is followed, so that the file it names changes and the link stays.
    """
    path = path.resolve()
    with staged(path, data) as temporary:
        temporary.replace(path)


def create(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, whole and durable; `FileExistsError` if it is."""
    with staged(path, data) as temporary:
        settle(temporary, path)


def replace(path: Path, data: bytes, was: bytes) -> None:
    """Write `data` over the file whose bytes are `was`, whole and durable; its mode is kept.

    Raises `Changed`, and leaves the file as it is, when it holds something else by now or is gone.
    What is saved under its name at that very moment is not lost either, where the system can
    exchange two files.
    """
    path = path.resolve()
    with staged(path, data) as temporary:
        if _bytes(path) != was:
            raise Changed(path)
        swap = _swap()
        if swap is None:
            temporary.replace(path)
            return
        try:
            swap(temporary, path)
        except OSError:
            if _bytes(path) != was:
                raise Changed(path) from None
            temporary.replace(path)
            return
        if _bytes(temporary) == was:
            # Who opened the old file a moment before the exchange may write into it only now.
            sync_folder(path.parent)
        if _bytes(temporary) != was:
            _put_back(swap, temporary, path, data)
            raise Changed(path)


def _put_back(swap: Swap, temporary: Path, path: Path, data: bytes) -> None:
    """Undo an exchange by which `data` took the place of what somebody had just saved."""
    there: bytes | None = data
    while True:
        saved = _bytes(temporary)
        swap(temporary, path)
        if _bytes(temporary) == there:
            return
        # What comes back was in its turn saved since: that is the newest.
        there = saved


def revise(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Write what `change` makes of a file's bytes; of those that somebody saves meanwhile, if so.

    Raises `Changed` when that goes on and on.
    """
    for left in reversed(range(5)):
        data = path.read_bytes()
        changed = change(data)
        try:
            if changed != data:
                replace(path, changed, data)
            return
        except Changed:
            if not left:
                raise


@contextmanager
def staged(path: Path, data: bytes) -> Iterator[Path]:
    """A hidden file beside `path` that holds `data`: to be moved there, else it is removed."""
    swept(path.parent)
    temporary = beside(path)
    # Not tempfile: its files are the owner's alone, and a note is as open as its folder.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def beside(path: Path) -> Path:
    """A free name in the folder of `path`, hidden from searches and swept when it is left."""
    return path.with_name(f".djinn-{os.urandom(8).hex()}.tmp")


@cache
def swept(folder: Path) -> None:
    """Remove what killed processes left half written in a folder, once for each process."""
    for path in filter(half_written, folder.glob(".djinn-*.tmp")):
        with suppress(OSError):
            path.unlink()


def half_written(path: Path) -> bool:
    """Whether a file is what a writer that was killed long ago has left of `staged`."""
    named = _SCRATCH.fullmatch(path.name)
    return bool(named) and (path.is_symlink() or path.is_file()) and abandoned(path)


def abandoned(path: Path) -> bool:
    """Whether a file or folder is too old to be still in the making."""
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime > LEFT_SECONDS
    return False


def settle(temporary: Path, path: Path) -> None:
    """Move a file to a name that nothing has; `FileExistsError` if something does."""
    try:
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # A file system without hard links: the name is taken first, then given to the file.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        temporary.replace(path)
    else:
        temporary.unlink()


def _bytes(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return None


@cache
def _swap() -> Swap | None:
    """What exchanges two files in one step; None where the system has nothing like it."""
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <linux/fs.h>

    def swap(one: Path, other: Path) -> None:
        if call(here, os.fsencode(one), here, os.fsencode(other), exchange):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(one), None, str(other))

    return swap


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def place(path: Path) -> tuple[int, int] | None:
    """Which file lies at `path` now, whatever its name was before; None for none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def mark(path: Path) -> tuple[int, int, int] | None:
    """Another value after the file was written, replaced or removed."""
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


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
def lock(
    path: Path,
    *,
    timeout: float = 10.0,
    pulse: Callable[[], object] = lambda: None,
    waiting: Callable[[str], None] = lambda _: None,
) -> Iterator[None]:
    """Hold `path` as a lock between processes.

    `Busy` after `timeout` seconds in which neither another process came to hold it nor `pulse`
    gave another value, which tells that its holder gets on; `Unavailable` where it cannot be
    made. After a second `waiting` is told, once, who is waited for. It is not to be taken again
    inside. The system releases it when its holder dies, so a killed process leaves no stale lock.
    """
    from filelock import FileLock

    held = FileLock(path, timeout=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(held, path, timeout, pulse, waiting)
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be locked: {error.strerror}; check what lies there and its permissions"
        ) from None
    try:
        _sign(path)
        yield
    finally:
        held.release()


def _acquire(
    held: BaseFileLock,
    path: Path,
    timeout: float,
    pulse: Callable[[], object],
    waiting: Callable[[str], None],
) -> None:
    from filelock import Timeout

    began = since = time.monotonic()
    seen: object = None
    told = False
    while True:
        try:
            held.acquire()
            return
        except Timeout:
            now = time.monotonic()
        beat = (_signature(path), pulse()) if timeout else None
        if beat != seen:
            seen, since = beat, now
        if now - since >= timeout:
            raise Busy(
                f"another djinn process{_named(path)} holds {path}; try again when it has finished"
            )
        if not told and now - began > TELL_SECONDS:
            told = True
            waiting(f"waiting for another djinn process{_named(path)}")
        # Many who wait must not look all at once.
        time.sleep(random.uniform(0.005, 0.05))


def _sign(path: Path) -> None:
    """Leave in a lock that is held who holds it, and since when; a courtesy, so it may fail."""
    # The first byte is left alone: it is what Windows locks.
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            os.write(descriptor, f" {os.getpid()} {time.time_ns()}\n".encode())
        finally:
            os.close(descriptor)


def _signature(path: Path) -> bytes:
    with suppress(OSError), path.open("rb", buffering=0) as file:
        file.seek(1)
        return file.read(100)
    return b""


def holder(path: Path) -> int | None:
    """The id of the process that holds `path` as a `lock`, or held it last; None if unknown."""
    first = _signature(path).split(b" ", 1)[0]
    return int(first) if first.isdigit() else None


def _named(path: Path) -> str:
    number = holder(path)
    return f" (pid {number})" if number else ""


def held(path: Path) -> bool:
    """Whether a process holds `path` as a `lock` now; nothing is written there to find out."""
    from filelock import FileLock, Timeout

    if not path.exists():
        return False
    probe = FileLock(path, timeout=0)
    try:
        probe.acquire()
    except Timeout:
        return True
    except OSError:
        return False
    probe.release()
    return False
