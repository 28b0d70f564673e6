"""The files that a user wants to ingest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.errors import DjinnError, NotFound
from djinn_memory.notes.vault import hidden
from djinn_memory.system.files import expand


class Source(Struct, frozen=True):
    """A file to be ingested."""

    path: Path
    name: str
    """The name of the file, or the name under which it was received."""
    lasting: bool = True
    """Whether the file is permanent, so that a link to it stays valid."""


def sources(
    paths: Sequence[Path], *, recursive: bool = False, hides: Container[Path] = ()
) -> tuple[list[Source], list[tuple[str, DjinnError]]]:
    """The files at `paths` and in folders among them, each once, and the paths that failed.

    Hidden files in a folder are left out. Subfolders are left out unless `recursive`. Nothing below
    a path in `hides` is looked at: it is reported as if it did not exist.
    """
    files: dict[str, Source] = {}
    missing: list[tuple[str, DjinnError]] = []
    for path in map(expand, paths):
        for file in _files(path, recursive, hides, missing):
            files.setdefault(os.path.realpath(file), Source(file, file.name))
    return list(files.values()), missing


def _files(
    path: Path, recursive: bool, hides: Container[Path], missing: list[tuple[str, DjinnError]]
) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        # A folder that cannot be read must not stop the others.
        where = str(error.filename or path)
        missing.append((where, DjinnError(f"cannot be read: {error.strerror}")))

    try:
        kind = None if path in hides else path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        kind = None
    except OSError as error:
        fail(error)
        return
    if kind is None:
        missing.append((str(path), no_such_file()))
        return
    if not stat.S_ISDIR(kind):
        yield path
        return
    for folder, names, files in os.walk(path, onerror=fail):
        inner = sorted(names) if recursive else []
        names[:] = [name for name in inner if not hidden(name) and Path(folder, name) not in hides]
        for name in sorted(files):
            place = Path(folder, name)
            if not name.startswith(".") and not (place.is_symlink() and _skips(path, place, hides)):
                yield place


def no_such_file() -> NotFound:
    """The message for a path that has no file, or whose file must not be revealed."""
    return NotFound("no such file or folder; check the path")


def _skips(root: Path, link: Path, hides: Container[Path]) -> bool:
    """Whether a link leads out of the folder, which may be from elsewhere, or to a hidden path."""
    try:
        return link in hides or not link.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def fingerprint(path: Path) -> tuple[str, int]:
    """The SHA-256 of a file's bytes, and their number. Raises a one-line `DjinnError`."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # Opening a FIFO would wait for a writer for ever.
            raise DjinnError("is not a regular file")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            size = file.tell()
    except OSError as error:
        raise DjinnError(f"cannot be read: {error.strerror}") from None
    return digest.hexdigest(), size
