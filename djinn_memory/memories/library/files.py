"""Writes documents to a vault: each is written completely, and earlier versions are kept."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Literal

from msgspec import Struct

from djinn_memory.documents.note import FOLDER, HISTORY
from djinn_memory.errors import DjinnError, Refused, Remedy
from djinn_memory.home.access import is_private
from djinn_memory.memories.catalog.catalog import file_name
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.slugs import fold, slug, unique
from djinn_memory.system import files

Keep = Literal["copy", "link", "no"]

_HEAD = 64_000
"""Bytes at the start of a note that contain its front matter."""


class DocumentPlace(Struct, frozen=True):
    """The files of a document. Paths are relative to the vault."""

    note: str
    original: str | None
    """The path of the kept original beside the note."""


def place(
    vault: Vault, title: str, extension: str, keep: Keep, source: Path | None = None
) -> DocumentPlace:
    """Free paths for a new document whose file is called `title`.

    A path is also free if only an original is there that is a copy of `source` or a link to it.
    """
    folder = files.inside(vault.root, FOLDER)
    taken = {fold(name) for name in names(folder)}

    def is_taken(base: str) -> bool:
        if fold(f"{base}.md") in taken:
            return True
        original = folder / (base + extension)
        return fold(original.name) in taken and not (source and _is_stored(original, source, keep))

    name = unique(file_name(vault, slug(title)), is_taken)
    original = None if keep == "no" else f"{FOLDER}/{name}{extension}"
    return DocumentPlace(f"{FOLDER}/{name}.md", original)


def names(folder: Path) -> Sequence[str]:
    """The names of the files in a folder; empty if the folder does not exist."""
    return os.listdir(folder) if folder.is_dir() else ()  # noqa: PTH208


def holder(vault: Vault, sha256: str, since_ns: int, known: Set[str | None]) -> str | None:
    """The path of a document with this hash, written after `since_ns` and not in `known`."""
    folder = files.inside(vault.root, FOLDER)
    for path in sorted(folder.glob("*.md")):
        name = f"{FOLDER}/{path.name}"
        with suppress(OSError):
            # A clock of two seconds' grain stands a little behind.
            info = path.stat()
            if name in known or info.st_mtime_ns < since_ns - 3_000_000_000:
                continue
            # To open a FIFO would wait for a writer for ever.
            if S_ISREG(info.st_mode) and read_fields(vault, name).get("sha256") == sha256:
                return name
    return None


def read_fields(vault: Vault, path: str) -> dict[str, str]:
    """The front matter of a note on disk, without lists; empty if the note is missing."""
    with suppress(OSError, DjinnError), files.inside(vault.root, path).open("rb") as file:
        fields = frontmatter.read(decode(file.read(_HEAD))[0]).fields
        return {key: value for key, value in fields.items() if isinstance(value, str)}
    return {}


def put(
    vault: Vault,
    place: DocumentPlace,
    note: bytes,
    source: Path,
    keep: Keep,
    *,
    replaced: bytes | None = None,
) -> None:
    """Write a document and its original. `replaced` are the bytes of the note that it replaces.

    The original is written first, so that every note has its original. A kill may leave an original
    without a note, which the next run reuses. A document that cannot be written completely leaves
    no files. Raises `Changed` and `FileExistsError` as `files.replace` and `files.create`.
    """
    if vault.read_only:
        another = Remedy("", {"vault": None}, "choose another vault")
        raise Refused(f"vault {vault.name} is read-only", another)
    target = files.inside(vault.root, place.note)
    private = is_private(vault)
    files.make_folder(target.parent, private=private)
    # Not `inside`: an original that is a link is replaced, not followed.
    original = target.parent / PurePosixPath(place.original).name if place.original else None
    storing = _original(source, original, keep, private, new=replaced is None) if original else None
    with storing or nullcontext():
        if replaced is None:
            files.create(target, note, private=private)
        else:
            files.replace(target, note, replaced)


@contextmanager
def _original(
    source: Path, original: Path, keep: Keep, private: bool, *, new: bool
) -> Iterator[None]:
    """Keep a file beside its note. If the note cannot be written, restore the previous file."""
    if new and _is_stored(original, source, keep):
        yield
        return
    with _staged(source, original, keep, private) as staged:
        before = None
        if new:
            files.move_to_free_name(staged, original)
        else:
            before = _second_name(original)
            staged.replace(original)
        files.sync_folder(original.parent)
        try:
            yield
        except BaseException:
            if before:
                before.replace(original)
            else:
                original.unlink()
            raise
        finally:
            if before:
                before.unlink(missing_ok=True)


def _second_name(path: Path) -> Path | None:
    """Hard-link a file, or rename it, to another name. None if the file does not exist."""
    if not os.path.lexists(path):
        return None
    second = files.scratch_path(path)
    try:
        os.link(path, second, follow_symlinks=False)
    except (OSError, NotImplementedError):
        path.rename(second)
    return second


def _is_stored(original: Path, source: Path, keep: Keep) -> bool:
    """Whether a killed run has already stored this file."""
    if keep == "link":
        return original.is_symlink() and original.readlink() == source.resolve()
    return (
        not original.is_symlink()
        and original.is_file()
        and filecmp.cmp(original, source, shallow=False)
    )


@contextmanager
def retired(
    vault: Vault, note: str, data: bytes, original: str | None, version: int
) -> Iterator[str]:
    """Copy a document that will be replaced into the history; yields the copy's path.

    `data` are the bytes of its note. The copy is removed again if the new version fails.
    """
    folder = files.inside(vault.root, HISTORY)
    private = is_private(vault)
    files.make_folder(folder, private=private)
    stem = PurePosixPath(note).stem

    def taken(name: str) -> bool:
        # The same bytes are of an interrupted run; others of a note that moved away.
        path = folder / f"{name}.md"
        return os.path.lexists(path) and not (path.is_file() and path.read_bytes() == data)

    name = unique(f"{stem}.v{version}", taken)
    copies = []
    try:
        if original:
            before = disk.entry(vault, note).with_name(PurePosixPath(original).name)
            own = before.name.startswith(stem)
            copy = folder / f"{name}{before.name.removeprefix(stem) if own else before.suffix}"
            if os.path.lexists(before) and not os.path.lexists(copy):
                how: Keep = "link" if before.is_symlink() else "copy"
                with _staged(before, copy, how, private) as staged:
                    files.move_to_free_name(staged, copy)
                copies.append(copy)
        if not os.path.lexists(folder / f"{name}.md"):
            files.create(folder / f"{name}.md", data, private=private)
            copies.append(folder / f"{name}.md")
        files.sync_folder(folder)
        yield f"{HISTORY}/{name}.md"
    except BaseException:
        for path in copies:
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _staged(source: Path, target: Path, keep: Keep, private: bool) -> Iterator[Path]:
    """A copy of `source`, or a link to it, beside `target`.

    It is removed unless it is moved away.
    """
    if target.is_dir() and not target.is_symlink():
        raise IsADirectoryError(errno.EISDIR, f"{target.name} is a folder", str(target))
    files.remove_leftovers(target.parent)
    temporary = files.scratch_path(target)
    try:
        if keep == "link":
            temporary.symlink_to(source.resolve())
        else:
            if private:
                files.create_private(temporary)
            shutil.copyfile(source, temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
