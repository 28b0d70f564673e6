"""A vault on disk: which files are its notes, and changes that stay inside it."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct, field

from djinn_memory.errors import ConfigError, NotFound, Refused
from djinn_memory.files import inside
from djinn_memory.models import Problem, Vault

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 50_000_000
"""A larger file is not a note; reading it would cost every other note its place in memory."""

_INT64 = 2**63 - 1
"""What SQLite can keep: some file systems have larger inodes, and times after the year 2262."""

SKIPPED = frozenset({"node_modules"})
"""Folders left out beside the hidden ones (.git, .obsidian, .trash, ...)."""

TRASH = ".trash"


class FileStat(Struct, frozen=True):
    """A note's file as a directory listing shows it; equal when nothing touched the file."""

    path: str
    """POSIX, relative to the vault's root, as the file system spells it."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Listing(Struct):
    """What a walk saw."""

    files: list[FileStat]
    complete: bool = True
    """False when the time ran out: what is not listed may still be there."""
    problems: list[Problem] = field(default_factory=list)


def walk(vault: Vault, exclude: Sequence[str] = (), *, deadline: float | None = None) -> Listing:
    """List the notes of a vault, sorted by path; `deadline` is a `time.monotonic` value.

    Symbolic links are not followed: what lies in the vault is listed under its own name, and what
    lies outside is not read. `NotFound` when the root is gone.
    """
    listing = Listing([])
    ignored = _spec(exclude)
    root = str(vault.root)
    if not os.path.isdir(root):  # noqa: PTH112 - a string path, walked by the thousand
        raise NotFound(
            f"the folder of vault {vault.name} is gone: {root}; "
            f"restore it or `djinn vault remove {vault.name}`"
        )
    folders = [""]
    late = False
    while folders and not late:
        # In haste another folder comes first each time, so that none is never looked at.
        folder = folders.pop(-1 if deadline is None else time.monotonic_ns() % len(folders))
        try:
            with os.scandir(os.path.join(root, folder)) as entries:  # noqa: PTH118
                for number, entry in enumerate(entries):
                    late = number % 64 == 0 and _over(deadline)
                    if late:
                        break
                    _visit(entry, folder, vault, ignored, folders, listing)
        except OSError as error:
            listing.problems.append(_unreadable(f"{vault.name}/{folder}", error))
            listing.complete = False
    listing.complete = listing.complete and not late
    listing.files.sort(key=lambda file: file.path)
    return listing


def _left_out(vault: Vault) -> frozenset[str]:
    if vault.dialect == "obsidian":
        # A search looks around too: the rules of the others are 30 ms of imports.
        return vault.inner
    from djinn_memory.notes.dialects import RULES

    return vault.inner | RULES[vault.dialect].folders


def _kept(nanoseconds: int) -> int:
    return max(-_INT64, min(_INT64, nanoseconds))


def _over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def _visit(
    entry: os.DirEntry[str],
    folder: str,
    vault: Vault,
    ignored: GitIgnoreSpec | None,
    folders: list[str],
    listing: Listing,
) -> None:
    name = entry.name
    if name.startswith(".") or name in SKIPPED:
        return
    path = f"{folder}{name}"
    if entry.is_dir(follow_symlinks=False):
        if path not in _left_out(vault) and not (ignored and ignored.match_file(path + "/")):
            folders.append(path + "/")
        return
    if name[-3:].lower() != ".md" or (ignored and ignored.match_file(path)):
        return
    try:
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            inside(vault.root, path)
    except FileNotFoundError:
        return
    except (OSError, Refused) as error:
        listing.problems.append(_unreadable(f"{vault.name}/{path}", error))
        return
    if not stat.S_ISREG(info.st_mode):
        return
    what = f"{vault.name}/{path}"
    if not _encodable(path):
        listing.problems.append(Problem(ascii(what), "its name is not valid UTF-8; rename it"))
    elif info.st_size > MAX_BYTES:
        why = f"{info.st_size:,} bytes is too large for a note; skipped"
        listing.problems.append(Problem(what, why))
    else:
        mtime, ctime = _kept(info.st_mtime_ns), _kept(info.st_ctime_ns)
        inode = info.st_ino & _INT64
        listing.files.append(FileStat(path, info.st_size, mtime, ctime, inode))


def attachments(vault: Vault, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Paths of the files that are no notes, so that links to them are not called unresolved."""
    ignored = _spec(exclude)
    left_out = _left_out(vault)
    for folder, names, files in os.walk(vault.root):
        inner = PurePosixPath(Path(folder).relative_to(vault.root).as_posix())
        names[:] = [
            name
            for name in names
            if not name.startswith(".")
            and name not in SKIPPED
            and str(inner / name) not in left_out
        ]
        for name in files:
            path = str(inner / name)
            if not name.startswith(".") and name[-3:].lower() != ".md" and _encodable(path):
                if ignored and ignored.match_file(path):
                    continue
                yield path


def read(vault: Vault, path: str) -> bytes:
    """The bytes of a note; a path or link that leads out of the vault is `OutsideVault`."""
    target = inside(vault.root, path)
    if target.exists() and not target.is_file():
        # To open a FIFO would wait for a writer for ever.
        raise Refused(f"{vault.name}/{path} is no file")
    with target.open("rb") as file:
        return file.read(MAX_BYTES + 1)[:MAX_BYTES]


def trash(vault: Vault, path: str) -> Path:
    """Move a note to the vault's `.trash/`, under a free name; returns where it lies now."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; delete the file yourself")
    source = vault.root.resolve() / path
    inside(vault.root, Path(path).parent)
    if not source.is_symlink() and not source.is_file():
        raise NotFound(f"{vault.name}/{path} is gone already; `djinn index` notices that")
    folder = inside(vault.root, Path(TRASH, path).parent)
    folder.mkdir(parents=True, exist_ok=True)
    name = PurePosixPath(path)
    target, number = folder / name.name, 2
    while target.exists() or target.is_symlink():
        target, number = folder / f"{name.stem}-{number}{name.suffix}", number + 1
    source.rename(target)
    return target


def _spec(exclude: Sequence[str]) -> GitIgnoreSpec | None:
    if not exclude:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(exclude)
    except (ValueError, re.error) as error:
        raise ConfigError(f"exclude: {error}; write patterns as in .gitignore") from None


def _encodable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(what: str, error: Exception) -> Problem:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem(what, f"cannot be read: {why}")
