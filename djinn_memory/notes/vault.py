"""Lists, reads, changes and trashes the notes of a vault on disk, and no file outside of it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from time import monotonic, monotonic_ns
from typing import TYPE_CHECKING

from msgspec import Struct, field

from djinn_memory.errors import ConfigError, NotFound, Refused, Remedy
from djinn_memory.home.access import is_private
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.slugs import unique
from djinn_memory.system.files import inside, make_folder, revise

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 50_000_000
"""Maximum size of a note: reading a larger file would displace every other note from memory."""

_INT64 = 2**63 - 1
"""The largest integer in SQLite. Some file systems have larger inode numbers, or times after
2262."""

SKIPPED = frozenset({"node_modules"})
"""Folders left out besides hidden ones (.git, .obsidian, .trash, ...)."""

_SPECIAL = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileStat(Struct, frozen=True):
    """A note's file in a directory listing. Two are equal if the file has not changed."""

    path: str
    """POSIX, relative to the vault's root, in the spelling of the file system."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class VaultListing(Struct):
    """The result of a walk."""

    files: list[FileStat]
    complete: bool = True
    """False when time ran out. Files that are not listed may then exist."""
    unseen: list[str] = field(default_factory=list)
    """Paths that could not be read. The path of a folder ends with a slash."""
    problems: list[Problem] = field(default_factory=list)


def walk(
    vault: Vault,
    exclude: Sequence[str] = (),
    *,
    only: Collection[str] | None = None,
    deadline: float | None = None,
) -> VaultListing:
    """List the notes of a vault, sorted by path. `deadline` is a `time.monotonic` value.

    Symbolic links are not followed. A link to a file in the vault is ignored, because the file is
    listed under its own name. A link out of the vault is a problem, like every other file that
    could be a note but is not. With `only`, only these files and the content of these folders are
    visited. Raises `NotFound` when the root no longer exists.
    """
    root = str(vault.root)
    if not os.path.isdir(root):  # noqa: PTH112 - a string path, walked by the thousand
        raise NotFound(
            f"the folder of vault {vault.name} does not exist: {root}",
            Remedy(purpose="restore it"),
            Remedy("vaults.move", {"name": vault.name, "folder": None}, "say where it is now"),
            Remedy("vaults.remove", {"name": vault.name}, "remove the vault from the settings"),
        )
    tour = _Walk(vault, _spec(exclude), [""] if only is None else [], VaultListing([]))
    for path in _outermost(only or ()):
        try:
            tour.visit_path(path)
        except OSError as error:
            tour.miss(path, error)
    folders, listing = tour.folders, tour.listing
    late = False
    while folders and not late:
        # With a deadline the first folder varies, so that every folder is visited sometimes.
        folder = folders.pop(-1 if deadline is None else monotonic_ns() % len(folders))
        try:
            with os.scandir(os.path.join(root, folder)) as entries:  # noqa: PTH118
                for number, entry in enumerate(entries):
                    late = number % 64 == 0 and deadline is not None and monotonic() > deadline
                    if late:
                        break
                    tour.visit(entry, folder)
        except FileNotFoundError:
            listing.unseen.append(folder)
        except OSError as error:
            tour.miss(folder, error)
    listing.complete = not late
    listing.files.sort(key=lambda file: file.path)
    return listing


def takes(vault: Vault, path: str, exclude: Sequence[str] = ()) -> bool:
    """Whether a file at a path would be a note of the vault."""
    return bool(path) and _Walk(vault, _spec(exclude), [], VaultListing([])).takes(path)


def _outermost(paths: Collection[str]) -> Iterator[str]:
    """The paths that are not inside another of the paths."""
    outer = set(paths)
    for path in outer:
        if not any(str(parent) in outer for parent in PurePosixPath(path).parents):
            yield path


class _Walk(Struct):
    """The state of a walk."""

    vault: Vault
    ignored: GitIgnoreSpec | None
    folders: list[str]
    """Folders that are not yet listed. Each ends with a slash."""
    listing: VaultListing

    def visit_path(self, path: str) -> None:
        """Visit a path, if a walk from the root would reach it."""
        *above, name = PurePosixPath(path).parts or ("",)
        if name and self._enters(above):
            self.visit(self.vault.root / path, "".join(f"{part}/" for part in above))

    def takes(self, path: str) -> bool:
        """Whether a file at a path would be a note."""
        *above, name = PurePosixPath(path).parts
        is_note = name.endswith(".md") and not hidden(name) and not self._ignores(path)
        return is_note and "/".join((*above, name)) == path and self._enters(above)

    def _enters(self, folders: Sequence[str]) -> bool:
        """Whether a walk from the root would enter a folder, given by its parts."""
        for depth, name in enumerate(folders, 1):
            folder = "/".join(folders[:depth])
            if name == ".." or hidden(name) or self._excludes(folder):
                return False
            if (self.vault.root / folder).is_symlink():
                return False
        return True

    def visit(self, entry: os.DirEntry[str] | Path, folder: str) -> None:
        """Add an entry of a folder to the listing or to the waiting folders."""
        path = f"{folder}{entry.name}"
        if hidden(entry.name):
            return
        if entry.is_symlink():
            if (why := _link_problem(self.vault, path)) and not self._ignores(path):
                self._report(path, why)
        elif entry.is_dir():
            if not self._excludes(path):
                self.folders.append(path + "/")
        elif path[-3:].lower() == ".md" and not self._ignores(path):
            self._add_file(entry, path)

    def miss(self, path: str, error: OSError) -> None:
        """Record a path that cannot be read. It does not count as deleted."""
        self._report(path, f"cannot be read: {error.strerror or error}")
        self.listing.unseen.append(path)

    def _add_file(self, entry: os.DirEntry[str] | Path, path: str) -> None:
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self.miss(path, error)
            return
        if not stat.S_ISREG(info.st_mode):
            kind = _SPECIAL.get(stat.S_IFMT(info.st_mode), "not a regular file")
            self._report(path, f"is {kind}, not a note; rename or exclude it")
        elif not _encodable(path):
            self._report(path, "the file name is not valid UTF-8; rename the file")
        elif info.st_size > MAX_BYTES:
            self._report(
                path, f"{info.st_size:,} bytes is too large for a note; the file was skipped"
            )
        else:
            mtime = max(-_INT64, min(_INT64, info.st_mtime_ns))
            ctime = max(-_INT64, min(_INT64, info.st_ctime_ns))
            inode = info.st_ino & _INT64
            self.listing.files.append(FileStat(path, info.st_size, mtime, ctime, inode))

    def _report(self, path: str, why: str) -> None:
        what = f"{self.vault.name}/{path}"
        self.listing.problems.append(Problem(what if _encodable(path) else ascii(what), why))

    def _ignores(self, path: str) -> bool:
        return bool(self.ignored and self.ignored.match_file(path))

    def _excludes(self, folder: str) -> bool:
        """Whether the content of a folder does not belong to the vault."""
        return folder in _foreign_folders(self.vault) or self._ignores(folder + "/")


def hidden(name: str) -> bool:
    """Whether a file or folder of this name is hidden, so that it holds no notes."""
    return name.startswith(".") or name in SKIPPED


def _foreign_folders(vault: Vault) -> frozenset[str]:
    """Folders in a vault that belong to other vaults or to the program of its dialect."""
    if vault.dialect == "obsidian":
        # A search walks too, and importing the rules of the other dialects takes 30 ms.
        return vault.inner
    from djinn_memory.notes.dialects.rules import RULES

    return vault.inner | RULES[vault.dialect].folders


def _link_problem(vault: Vault, path: str) -> str | None:
    """The reason why a link hides notes; None for a link to another place in the vault."""
    is_note = path[-3:].lower() == ".md"
    link = vault.root / path
    try:
        if not is_note and not link.is_dir():
            return None
        target, root = link.resolve(strict=True), vault.root.resolve()
    except FileNotFoundError:
        return "is a symbolic link to a missing file; correct or remove it"
    except (OSError, RuntimeError):
        return "is a symbolic link in a loop; remove it"
    if not target.is_relative_to(root):
        if any(target.is_relative_to(other) for other in vault.others):
            return None
        purpose = "add the folder that it leads to"
        add = Remedy("vaults.add", {"name": None, "path": str(target)}, purpose)
        remedy = "copy it here" if is_note else str(add)
        return f"is a symbolic link that leads out of the vault and is not followed; {remedy}"
    inner = target.relative_to(root)
    unseen = any(map(hidden, inner.parts))
    if unseen or (is_note and inner.suffix.lower() not in (".md", "")):
        return f"is a symbolic link to {inner}, which is not a note; copy the file here"
    return None


def attachments(vault: Vault, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Paths of the files that are not notes, so that links to them do not count as unresolved."""
    ignored = _spec(exclude)
    foreign = _foreign_folders(vault)
    for folder, names, files in os.walk(vault.root):
        inner = PurePosixPath(Path(folder).relative_to(vault.root).as_posix())
        names[:] = [name for name in names if not hidden(name) and str(inner / name) not in foreign]
        for name in files:
            path = str(inner / name)
            attached = not name.startswith(".") and name[-3:].lower() != ".md" and _encodable(path)
            if attached and not (ignored and ignored.match_file(path)):
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


TRASH = ".trash"

_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file without waiting: opening a FIFO would block until a writer comes."""


def entry(vault: Vault, path: str | Path) -> Path:
    """The place of a path; `OutsideVault` if its folder is not in the vault. A link there stays."""
    relative = Path(path)
    return inside(vault.root, relative.parent) / relative.name


def read(vault: Vault, path: str) -> bytes:
    """The bytes of a note; `OutsideVault` for a path or link out of the vault."""
    target = inside(vault.root, path)
    descriptor = os.open(target, _AT_ONCE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused(f"{vault.name}/{path} is not a file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_BYTES)


def on_disk(vault: Vault, path: str | os.PathLike[str]) -> bool:
    """Whether the file of a note exists and may be read."""
    return os.path.isfile(os.path.join(vault.root, path))  # noqa: PTH113, PTH118 - never raises


def edit(vault: Vault, path: str, change: Callable[[bytes], bytes]) -> None:
    """Apply `change` to the bytes of a note; see `revise`."""
    read(vault, path)
    revise(inside(vault.root, path), change)


def free_in_trash(vault: Vault, path: str, taken: Collection[str] = ()) -> str:
    """A free path in the vault's `.trash/` for a file, which is none of those `taken`."""
    target, place = entry(vault, f"{TRASH}/{path}"), PurePosixPath(TRASH, path)

    def is_taken(base: str) -> bool:
        return os.path.lexists(target.with_stem(base)) or str(place.with_stem(base)) in taken

    return str(place.with_stem(unique(place.stem, is_taken)))


def trash(vault: Vault, path: str) -> Path:
    """Move a note to a free name in the vault's `.trash/`; returns the new path."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; delete the file yourself")
    source = entry(vault, path)
    if not source.is_symlink() and not source.is_file():
        update = Remedy("index", {}, "update the index")
        raise NotFound(f"{vault.name}/{path} no longer exists", update)
    target = entry(vault, free_in_trash(vault, path))
    make_folder(target.parent, private=is_private(vault))
    return source.rename(target)


def trashed(path: str) -> bool:
    """Whether a path is inside a vault's trash."""
    return path.startswith(f"{TRASH}/")
