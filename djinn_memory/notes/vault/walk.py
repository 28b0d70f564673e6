"""Which files of a vault are its notes."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct, field

from djinn_memory.errors import ConfigError, NotFound
from djinn_memory.models import Problem, Vault

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 50_000_000
"""A larger file is not a note; reading it would cost every other note its place in memory."""

_INT64 = 2**63 - 1
"""What SQLite can keep: some file systems have larger inodes, and times after the year 2262."""

SKIPPED = frozenset({"node_modules"})
"""Folders left out beside the hidden ones (.git, .obsidian, .trash, ...)."""

_SPECIAL = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileStat(Struct, frozen=True):
    """A note's file as a directory listing shows it; equal when nothing touched the file."""

    path: str
    """POSIX, relative to the vault's root, as the file system spells it."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class VaultListing(Struct):
    """What a walk saw."""

    files: list[FileStat]
    complete: bool = True
    """False when the time ran out: what is not listed may still be there."""
    unseen: list[str] = field(default_factory=list)
    """What could not be looked at; a folder of the listing has a slash behind it."""
    problems: list[Problem] = field(default_factory=list)


def walk(
    vault: Vault,
    exclude: Sequence[str] = (),
    *,
    only: Collection[str] | None = None,
    deadline: float | None = None,
) -> VaultListing:
    """List the notes of a vault, sorted by path; `deadline` is a `time.monotonic` value.

    Symbolic links are not followed: what lies in the vault is listed under its own name, and what
    lies outside is not read, which is a problem like all else that could be a note and is none.
    With `only` nothing is visited but these files, and what is in these folders.
    `NotFound` when the root is gone.
    """
    root = str(vault.root)
    if not os.path.isdir(root):  # noqa: PTH112 - a string path, walked by the thousand
        raise NotFound(
            f"the folder of vault {vault.name} is gone: {root}; "
            f"restore it or `djinn vault remove {vault.name}`"
        )
    seen = _Walk(vault, _spec(exclude), [""] if only is None else [], VaultListing([]))
    for path in _outermost(only or ()):
        try:
            seen.look(path)
        except OSError as error:
            seen.miss(path, error)
    folders, listing = seen.folders, seen.listing
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
                    seen.visit(entry, folder)
        except FileNotFoundError:
            listing.unseen.append(folder)
        except OSError as error:
            seen.miss(folder, error)
    listing.complete = not late
    listing.files.sort(key=lambda file: file.path)
    return listing


def _outermost(paths: Collection[str]) -> Iterator[str]:
    """Paths without those that lie in another of them."""
    there = set(paths)
    for path in there:
        if not any(str(parent) in there for parent in PurePosixPath(path).parents):
            yield path


class _Walk(Struct):
    """A walk under way."""

    vault: Vault
    ignored: GitIgnoreSpec | None
    folders: list[str]
    """Still to be listed, each with a slash behind it."""
    listing: VaultListing

    def look(self, path: str) -> None:
        """Visit one path, unless a walk from the root would not come there."""
        parts = PurePosixPath(path).parts
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            if hidden(parts[depth - 1]) or self._closed(above):
                return
            if (self.vault.root / above).is_symlink():
                return
        if parts:
            folder = "".join(f"{part}/" for part in parts[:-1])
            self.visit(_Entry(parts[-1], self.vault.root / path), folder)

    def visit(self, entry: os.DirEntry[str] | _Entry, folder: str) -> None:
        """Take notice of what lies in a folder."""
        path = f"{folder}{entry.name}"
        if hidden(entry.name):
            return
        if entry.is_symlink():
            if (why := _astray(self.vault, path)) and not self._ignores(path):
                self._tell(path, why)
        elif entry.is_dir(follow_symlinks=False):
            if not self._closed(path):
                self.folders.append(path + "/")
        elif path[-3:].lower() == ".md" and not self._ignores(path):
            self._take(entry, path)

    def miss(self, path: str, error: OSError) -> None:
        """Take notice of what cannot be looked at: it is not gone for that."""
        self._tell(path, f"cannot be read: {error.strerror or error}")
        self.listing.unseen.append(path)

    def _take(self, entry: os.DirEntry[str] | _Entry, path: str) -> None:
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self.miss(path, error)
            return
        if not stat.S_ISREG(info.st_mode):
            kind = _SPECIAL.get(stat.S_IFMT(info.st_mode), "no file")
            self._tell(path, f"is {kind}, not a note; rename or exclude it")
        elif not _encodable(path):
            self._tell(path, "its name is not valid UTF-8; rename it")
        elif info.st_size > MAX_BYTES:
            self._tell(path, f"{info.st_size:,} bytes is too large for a note; skipped")
        else:
            mtime, ctime = _kept(info.st_mtime_ns), _kept(info.st_ctime_ns)
            inode = info.st_ino & _INT64
            self.listing.files.append(FileStat(path, info.st_size, mtime, ctime, inode))

    def _tell(self, path: str, why: str) -> None:
        self.listing.problems.append(Problem(_shown(self.vault, path), why))

    def _ignores(self, path: str) -> bool:
        return bool(self.ignored and self.ignored.match_file(path))

    def _closed(self, folder: str) -> bool:
        """Whether what is in a folder is none of the vault's."""
        return folder in _left_out(self.vault) or self._ignores(folder + "/")


class _Entry(Struct, frozen=True):
    """A path, seen as an entry of its folder."""

    name: str
    place: Path

    def is_symlink(self) -> bool:
        return self.place.is_symlink()

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return self.place.is_dir() and (follow_symlinks or not self.place.is_symlink())

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        return self.place.stat(follow_symlinks=follow_symlinks)


def hidden(name: str) -> bool:
    """Whether what a file or folder of this name holds is no note."""
    return name.startswith(".") or name in SKIPPED


def _left_out(vault: Vault) -> frozenset[str]:
    if vault.dialect == "obsidian":
        # A search looks around too: the rules of the others are 30 ms of imports.
        return vault.inner
    from djinn_memory.notes.dialects.rules import RULES

    return vault.inner | RULES[vault.dialect].folders


def _kept(nanoseconds: int) -> int:
    return max(-_INT64, min(_INT64, nanoseconds))


def _over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def _astray(vault: Vault, path: str) -> str | None:
    """Why a link keeps notes from being read; None for one that only leads around in the vault."""
    is_note = path[-3:].lower() == ".md"
    link = vault.root / path
    try:
        if not is_note and not link.is_dir():
            return None
        target, root = link.resolve(strict=True), vault.root.resolve()
    except FileNotFoundError:
        return "is a link to nothing; mend or remove it"
    except (OSError, RuntimeError):
        return "is a link in a circle; remove it"
    if not target.is_relative_to(root):
        if any(target.is_relative_to(other) for other in vault.others):
            return None
        remedy = "copy it here" if is_note else "add that folder with `djinn vault add`"
        return f"is a link that leads out of the vault and is not followed; {remedy}"
    inner = target.relative_to(root)
    shut = any(map(hidden, inner.parts))
    if shut or (is_note and inner.suffix.lower() not in (".md", "")):
        return f"is a link to {inner}, which is no note; copy it here"
    return None


def attachments(vault: Vault, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Paths of the files that are no notes, so that links to them are not called unresolved."""
    ignored = _spec(exclude)
    left_out = _left_out(vault)
    for folder, names, files in os.walk(vault.root):
        inner = PurePosixPath(Path(folder).relative_to(vault.root).as_posix())
        names[:] = [
            name for name in names if not hidden(name) and str(inner / name) not in left_out
        ]
        for name in files:
            path = str(inner / name)
            if not name.startswith(".") and name[-3:].lower() != ".md" and _encodable(path):
                if ignored and ignored.match_file(path):
                    continue
                yield path


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


def _shown(vault: Vault, path: str) -> str:
    what = f"{vault.name}/{path}"
    return what if _encodable(path) else ascii(what)
