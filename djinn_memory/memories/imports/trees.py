"""Opens exports: single files, folders, and zip archives, which are never unpacked."""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO, cast

from msgspec import Struct

from djinn_memory.documents.sources import no_such_file
from djinn_memory.errors import DjinnError
from djinn_memory.notes.encoding import detect

HEAD = 65_536
"""Bytes at the start of a file that tell its encoding and its format."""

MOST_RATIO = 200
"""Maximum ratio of a member's size to its compressed size. Text rarely exceeds 20."""

SMALL = 50_000_000
"""Size in bytes up to which a member of an archive may have any ratio."""

UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError)
"""The errors of reading a file or a member of an archive."""


class Entry(Struct, frozen=True):
    """A file in a tree."""

    name: str
    """Its path in the tree, with `/`; empty for a single file."""
    size: int
    """Its size in bytes, unpacked."""
    at: datetime
    """The time of its last change."""


class Tree(Struct, frozen=True):
    """A single file, a folder or an archive, with the files in it."""

    path: Path
    """Its path, as it was given."""
    entries: dict[str, Entry]
    """Its files, by name, in order."""
    opener: Callable[[str], IO[bytes]]

    @property
    def label(self) -> str:
        """Its path, for people."""
        return os.path.normpath(self.path)

    def shown(self, name: str) -> str:
        """The path of a file, for people."""
        return os.path.normpath(self.path / name)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file as UTF-8, without a byte order mark.

        Raises `DjinnError` when it cannot be read.
        """
        try:
            with self.opener(name) as raw:
                yield _as_utf8(io.BufferedReader(cast(io.RawIOBase, raw), HEAD))
        except UNREADABLE as error:
            raise DjinnError(f"cannot be read: {reason(error)}") from None


def reason(error: BaseException) -> str:
    """Why a file cannot be read, as a clause."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, RuntimeError) and "encrypted" in str(error):
        return "it is encrypted; unpack it first"
    return f"it is damaged ({error})"


def open_tree(path: Path, hides: Container[Path] = ()) -> Tree:
    """The tree at a path. Raises `NotFound`, and `DjinnError` when it cannot be read.

    Nothing below a path in `hides` is looked at: it is treated as if it did not exist.
    """
    if path in hides:
        raise no_such_file()
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise no_such_file() from None
    except OSError as error:
        raise DjinnError(f"cannot be read: {reason(error)}") from None
    try:
        if stat.S_ISDIR(mode):
            return _folder(path, hides)
        if not stat.S_ISREG(mode):
            raise DjinnError("is not a regular file")
        if zipfile.is_zipfile(path):
            return _archive(path)
        return _file(path)
    except UNREADABLE as error:
        raise DjinnError(f"cannot be read: {reason(error)}") from None


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _file(path: Path) -> Tree:
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PK\3\4":
        raise DjinnError(
            "cannot be read: the archive is damaged, or cut off after "
            f"{path.stat().st_size:,} bytes; download it again"
        )
    entry = Entry("", path.stat().st_size, _changed(path))
    return Tree(path, {"": entry}, lambda _: path.open("rb", buffering=0))


def _folder(root: Path, hides: Container[Path]) -> Tree:
    """A folder with its files, also in subfolders. Hidden files and links out of it are skipped."""
    entries = {}
    real = root.resolve()
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name for name in names if not name.startswith(".") and Path(folder, name) not in hides
        )
        for file in sorted(files):
            place = Path(folder, file)
            with suppress(OSError, RuntimeError):
                inside = not place.is_symlink() or (
                    place not in hides and place.resolve().is_relative_to(real)
                )
                if not file.startswith(".") and inside and place.is_file():
                    name = place.relative_to(root).as_posix()
                    entries[name] = Entry(name, place.stat().st_size, _changed(place))
    return Tree(root, entries, lambda name: (root / name).open("rb", buffering=0))


def _archive(path: Path) -> Tree:
    archive = zipfile.ZipFile(path)
    entries = {}
    for info in archive.infolist():
        hidden = info.filename.startswith(("__MACOSX/", ".")) or "/." in info.filename
        if info.is_dir() or hidden:
            continue
        at = _changed(path)
        with suppress(ValueError):
            at = datetime(*info.date_time).astimezone(UTC)
        entries[info.filename] = Entry(info.filename, info.file_size, at)

    def opener(name: str) -> IO[bytes]:
        info = archive.getinfo(name)
        if info.file_size > SMALL and info.file_size > MOST_RATIO * max(info.compress_size, 1):
            raise DjinnError(
                f"would unpack {info.file_size:,} bytes from {info.compress_size:,}, as a zip bomb "
                "does; unpack it yourself if you trust it"
            )
        return archive.open(info)

    return Tree(path, dict(sorted(entries.items())), opener)


class _Recoded(io.RawIOBase):
    """A stream in another encoding, as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._text = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._rest or self._text.read(len(view) // 4 or 1).encode("utf-8", "replace")
        part, self._rest = data[: len(view)], data[len(view) :]
        view[: len(part)] = part
        return len(part)


def _as_utf8(stream: io.BufferedReader) -> BinaryIO:
    """A stream as UTF-8 without a byte order mark, whatever its encoding."""
    head = stream.peek(HEAD)[:HEAD]
    # The last character may be cut off.
    for end in range(4):
        bom, encoding, _ = detect(head[: len(head) - end])
        if encoding == "utf-8":
            break
    else:
        bom, encoding, _ = detect(head)
    stream.read(len(bom))
    if encoding in ("utf-8", None):
        return stream
    return io.BufferedReader(_Recoded(stream, encoding))
