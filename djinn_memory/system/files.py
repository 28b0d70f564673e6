"""Writes files so that no reader, crash or second process ever sees a partial file."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, BinaryIO

from djinn_memory.errors import Changed, NotFound, OutsideVault, Refused, Unavailable

IN_MEMORY = 8_000_000
"""Bytes from which the data is put into a file."""


class Scratch:
    """Pieces of data in a temporary file that no other process can open."""

    def __init__(self) -> None:
        """The file is made when it is needed."""
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self.size = 0
        """The number of bytes in it."""

    def put(self, data: bytes) -> int:
        """Add a piece. Returns its place. Raises `Unavailable` when it cannot be written."""
        place = self.size
        record = len(data).to_bytes(8, "big") + data
        try:
            self._file.seek(place)
            self._file.write(record)
        except OSError as error:
            folder, why = tempfile.gettempdir(), error.strerror or error
            raise Unavailable(
                f"{folder} cannot be written: {why}; free some space there, or set TMPDIR"
            ) from None
        self.size += len(record)
        return place

    def get(self, place: int) -> bytes:
        """The piece at a place."""
        self._file.seek(place)
        return self._file.read(int.from_bytes(self._file.read(8), "big"))

    def clear(self) -> None:
        """Remove all pieces."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


Swap = Callable[[Path, Path], None]

_SCRATCH = re.compile(r"\.djinn-[0-9a-f]{16}\.tmp")
"""The form of the names from `scratch_path`. A file with another name may belong to the user."""

LEFTOVER_SECONDS = 3600
"""Minimum age in seconds of a scratch file that is no longer being written."""


def make_folder(path: Path, *, private: bool = False) -> None:
    """Create a folder and its missing parents; if `private`, for the user alone.

    An existing folder keeps its mode.
    """
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(0o700 if private else 0o777, exist_ok=True)


def create_private(path: Path) -> None:
    """Create an empty file for the user alone, unless it exists.

    An existing file is not even opened, because closing it would release SQLite's locks on it in
    this process.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_private(path: Path) -> BinaryIO:
    """Open a file to append to it. A new file is accessible only to the user."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab")


def write_private(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a new file for the user alone, in a folder that nobody reads yet.

    A kill can leave a part of it. Without `sync`, it may not survive a power cut.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file. Raises `OSError` for any other: a pipe would block."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", str(path))
        return file.read()


def write_atomic(path: Path, data: bytes, *, private: bool = False) -> None:
    """Replace the content of `path` with `data` in one durable step.

    The file keeps its mode. A `private` file becomes accessible only to the user. A symbolic link
    is followed: its target changes, and the link stays.
    """
    path = path.resolve()
    with _staged(path, data, private) as scratch:
        scratch.replace(path)


def create(path: Path, data: bytes, *, private: bool = False, sync: bool = True) -> None:
    """Write a new file atomically and durably. Raises `FileExistsError` when `path` exists.

    A `private` file is accessible only to the user. Without `sync` it survives a power cut only
    after `sync_files`: for many files this is faster.
    """
    with _staged(path, data, private, sync) as scratch:
        move_to_free_name(scratch, path)


@contextmanager
def creating(path: Path) -> Iterator[None]:
    """Explain why a file that the user named cannot be created in the block.

    Raises `Refused` if it exists, `NotFound` without its folder, and `Unavailable` otherwise.
    """
    try:
        if not path.parent.is_dir():
            what = f"the folder {path.parent} does not exist"
            raise NotFound(f"{what}; create it or choose another folder")
        yield
    except FileExistsError:
        raise Refused(f"{path} already exists; choose another file name") from None
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror or error}"
        raise Unavailable(f"{why}; check the disk and its permissions") from None


def replace(path: Path, data: bytes, was: bytes) -> None:
    """Replace a file whose bytes are `was` with `data`, atomically and durably. The mode is kept.

    Raises `Changed` and does not touch the file when its bytes differ from `was` or it is missing.
    Where the system can exchange two files, even a save at that very moment is not lost.
    """
    path = path.resolve()
    with _staged(path, data) as scratch:
        if _bytes(path) != was:
            raise Changed(path)
        swap = _swap()
        if swap is None:
            scratch.replace(path)
            return
        try:
            swap(scratch, path)
        except OSError:
            if _bytes(path) != was:
                raise Changed(path) from None
            scratch.replace(path)
            return
        if _bytes(scratch) == was:
            # A program that opened the old file just before the exchange may write into it now.
            sync_folder(path.parent)
        if _bytes(scratch) != was:
            _put_back(swap, scratch, path, data)
            raise Changed(path)


def _put_back(swap: Swap, scratch: Path, path: Path, data: bytes) -> None:
    """Undo an exchange in which `data` replaced a version that another program had just saved."""
    expected: bytes | None = data
    while True:
        saved = _bytes(scratch)
        swap(scratch, path)
        if _bytes(scratch) == expected:
            return
        # Somebody saved again between the two exchanges: that version is the newest.
        expected = saved


def revise(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Apply `change` to the bytes of a file, again if another program saves the file meanwhile.

    Raises `Changed` after five attempts.
    """
    for attempts_left in reversed(range(5)):
        data = path.read_bytes()
        changed = change(data)
        try:
            if changed != data:
                replace(path, changed, data)
            return
        except Changed:
            if not attempts_left:
                raise


@contextmanager
def _staged(path: Path, data: bytes, private: bool = False, sync: bool = True) -> Iterator[Path]:
    """A hidden scratch file beside `path` that contains `data`.

    It is removed unless it was moved.
    """
    remove_leftovers(path.parent)
    scratch = scratch_path(path)
    mode = None
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
    # The scratch file of a private file is never open to others, not even for a moment.
    initial = 0o600 if private or mode is not None else 0o666
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, initial)
    except OSError as error:
        # The user knows the file, not the scratch file.
        error.filename = str(path)
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None and not private:
                os.fchmod(file.fileno(), mode)
            if sync:
                os.fsync(file.fileno())
        yield scratch
    except OSError as error:
        # The system names no file when the disk is full.
        error.filename = error.filename or str(path)
        raise
    finally:
        scratch.unlink(missing_ok=True)
    if sync:
        sync_folder(path.parent)


def scratch_path(path: Path) -> Path:
    """A free name in the folder of `path`. It is hidden from searches, and removed if left over."""
    return path.with_name(f".djinn-{os.urandom(8).hex()}.tmp")


@cache
def remove_leftovers(folder: Path) -> None:
    """Remove the scratch files of killed processes from a folder, once per process."""
    for path in filter(is_leftover, folder.glob(".djinn-*.tmp")):
        with suppress(OSError):
            path.unlink()


def is_leftover(path: Path, seconds: float = LEFTOVER_SECONDS) -> bool:
    """Whether a file is a scratch file that was not written for so many seconds."""
    scratch = _SCRATCH.fullmatch(path.name)
    return bool(scratch) and (path.is_symlink() or path.is_file()) and is_abandoned(path, seconds)


def leftovers_below(root: Path, seconds: float) -> list[Path]:
    """The scratch files in a folder and below it that were not written for so many seconds."""
    leftovers: list[Path] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name not in (".git", ".obsidian", "node_modules")]
        paths = (Path(folder, name) for name in names if name.startswith(".djinn-"))
        leftovers += [path for path in paths if is_leftover(path, seconds)]
    return sorted(leftovers)


def is_abandoned(path: Path, seconds: float = LEFTOVER_SECONDS) -> bool:
    """Whether a file or folder is too old to be still in progress."""
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime >= seconds
    return False


def move_to_free_name(source: Path, path: Path) -> None:
    """Move a file to a free name. Raises `FileExistsError` when the name is taken."""
    try:
        os.link(source, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # Without hard links: an empty file reserves the name, then the source replaces it.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        source.replace(path)
    else:
        source.unlink()


def _bytes(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return None


@cache
def _swap() -> Swap | None:
    """The system call that exchanges two files in one step; None where the system has none."""
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <linux/fs.h>

    def swap(first: Path, second: Path) -> None:
        if call(here, os.fsencode(first), here, os.fsencode(second), exchange):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(first), None, str(second))

    return swap


def sync_files(paths: Iterable[Path]) -> None:
    """Make files, and their names in their folders, survive a power cut."""
    written = list(paths)
    for path in written:
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            except OSError as error:
                # The system names no file when the disk is full.
                error.filename = str(path)
                raise
            finally:
                os.close(descriptor)
    for folder in {path.parent for path in written}:
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can do this."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def file_id(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at `path`, which survive a rename; None without a file."""
    with suppress(OSError):
        info = path.stat()
        return info.st_dev, info.st_ino
    return None


def file_version(path: Path) -> tuple[int, int, int] | None:
    """A value that changes when the file is written, replaced or removed."""
    with suppress(OSError):
        info = path.stat()
        return info.st_ino, info.st_size, info.st_mtime_ns
    return None


def saved_ns(path: Path) -> int | None:
    """The time when a file was last saved, in nanoseconds since 1970; None without a file."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return None


def set_saved(path: Path, time_ns: int | None) -> None:
    """Set the time when a file was last saved, if it is known and the system allows it."""
    if time_ns is not None:
        with suppress(OSError, OverflowError):
            os.utime(path, ns=(time_ns, time_ns))


def expand(path: str | Path) -> Path:
    """`path` with a leading `~` replaced; `~name` of an unknown user is unchanged."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path's own raises there


def inside(root: Path, relative: str | Path) -> Path:
    """`root / relative` with all links resolved. Raises `OutsideVault` if it leaves `root`."""
    base = root.resolve()
    # A path with a NUL and a circle of links lead nowhere.
    with suppress(ValueError, RuntimeError):
        target = (base / relative).resolve()
        if target.is_relative_to(base):
            return target
    raise OutsideVault(f"{relative} leads out of {root}; give a path inside that folder")
