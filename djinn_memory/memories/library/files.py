"""Documents in a vault's folder: written whole, earlier versions kept aside."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Literal

from msgspec import Struct

from djinn_memory.documents.note import FOLDER, HISTORY
from djinn_memory.errors import Refused
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.slugs import fold, slug, unique
from djinn_memory.system.files import (
    create,
    inside,
    move_to_free_name,
    remove_leftovers,
    replace,
    scratch_path,
    sync_folder,
)

Keep = Literal["copy", "link", "no"]

HEAD = 64_000
"""Bytes of a note in which its front matter ends."""


class DocumentPlace(Struct, frozen=True):
    """Where a document goes. Paths are relative to the vault."""

    note: str
    original: str | None
    """The kept file beside the note."""


def place(
    vault: Vault, title: str, extension: str, keep: Keep, source: Path | None = None
) -> DocumentPlace:
    """A free place for a new document whose file is called `title`.

    A place where only the original lies is free too if it is a copy of `source`, or a link to it.
    """
    folder = inside(vault.root, FOLDER)
    taken = {fold(name) for name in os.listdir(folder)} if folder.is_dir() else set()  # noqa: PTH208

    def has(base: str) -> bool:
        if fold(f"{base}.md") in taken:
            return True
        left = folder / (base + extension)
        return fold(left.name) in taken and not (source and _kept(left, source, keep))

    name = unique(slug(title), has)
    original = None if keep == "no" else f"{FOLDER}/{name}{extension}"
    return DocumentPlace(f"{FOLDER}/{name}.md", original)


def same_place(note: str, extension: str, keep: Keep) -> DocumentPlace:
    """The place of a new version of the document at `note`."""
    return DocumentPlace(note, None if keep == "no" else note.removesuffix(".md") + extension)


def holder(vault: Vault, sha256: str, since_ns: int, known: Set[str | None]) -> str | None:
    """The path of a document of these bytes that was written `since_ns` and is not `known`."""
    folder = inside(vault.root, FOLDER)
    for path in sorted(folder.glob("*.md")):
        name = f"{FOLDER}/{path.name}"
        with suppress(OSError):
            # A clock of two seconds' grain stands a little behind.
            info = path.stat()
            if name in known or info.st_mtime_ns < since_ns - 3_000_000_000:
                continue
            if not S_ISREG(info.st_mode):
                continue  # to open a FIFO would wait for a writer for ever
            with path.open("rb") as file:
                fields = frontmatter.read(decode(file.read(HEAD))[0]).fields
            if fields.get("sha256") == sha256:
                return name
    return None


def put(
    vault: Vault,
    where: DocumentPlace,
    note: bytes,
    source: Path,
    keep: Keep,
    *,
    was: bytes | None = None,
) -> None:
    """Write a document and its original, in the place of the note whose bytes are `was`, if any.

    The original comes first, so that whoever sees a note has all of it; what a kill leaves is an
    original without a note, which the next run takes for its own. Nothing is left of one that
    cannot be written whole. Raises `Changed` and `FileExistsError` as `files.replace` and
    `files.create`.
    """
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; choose another with --vault")
    target = inside(vault.root, where.note)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not `inside`: an original that is a link is replaced, not followed.
    original = target.parent / PurePosixPath(where.original).name if where.original else None
    with _original(source, original, keep, anew=was is None) if original else nullcontext():
        if was is None:
            create(target, note)
        else:
            replace(target, note, was)


@contextmanager
def _original(source: Path, original: Path, keep: Keep, *, anew: bool) -> Iterator[None]:
    """Keep a file beside its note; what was there before comes back when that is not written."""
    if anew and _kept(original, source, keep):
        yield
        return
    with _staged(source, original, keep) as staged:
        before = None
        if anew:
            move_to_free_name(staged, original)
        else:
            before = _second_name(original)
            staged.replace(original)
        sync_folder(original.parent)
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
    """Another name for a file, so that it is not lost with the one it has; None if it is not."""
    if not os.path.lexists(path):
        return None
    second = scratch_path(path)
    try:
        os.link(path, second, follow_symlinks=False)
    except (OSError, NotImplementedError):
        path.rename(second)
    return second


def _kept(original: Path, source: Path, keep: Keep) -> bool:
    """Whether a run that was killed has put this very file there already."""
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
    """Copy a document that is about to be replaced into the history; gives where its note lies.

    `data` are the bytes of its note. It stays in its place until the new one is whole; when that
    fails, the copy goes again.
    """
    folder = inside(vault.root, HISTORY)
    folder.mkdir(parents=True, exist_ok=True)
    stem = PurePosixPath(note).stem

    def taken(name: str) -> bool:
        # The same bytes are of a run that was broken off; others of a note that moved away.
        there = folder / f"{name}.md"
        return os.path.lexists(there) and not (there.is_file() and there.read_bytes() == data)

    name = unique(f"{stem}.v{version}", taken)
    made = []
    try:
        if original:
            parent = inside(vault.root, str(PurePosixPath(note).parent))
            before = parent / PurePosixPath(original).name
            own = before.name.startswith(stem)
            kept = folder / f"{name}{before.name.removeprefix(stem) if own else before.suffix}"
            if os.path.lexists(before) and not os.path.lexists(kept):
                with _staged(before, kept, "link" if before.is_symlink() else "copy") as staged:
                    move_to_free_name(staged, kept)
                made.append(kept)
        if not os.path.lexists(folder / f"{name}.md"):
            create(folder / f"{name}.md", data)
            made.append(folder / f"{name}.md")
        sync_folder(folder)
        yield f"{HISTORY}/{name}.md"
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _staged(source: Path, target: Path, keep: Keep) -> Iterator[Path]:
    """A copy of `source`, or a link to it, beside `target`: to be moved there, else removed."""
    if target.is_dir() and not target.is_symlink():
        raise IsADirectoryError(errno.EISDIR, f"{target.name} is a folder", str(target))
    remove_leftovers(target.parent)
    temporary = scratch_path(target)
    try:
        if keep == "link":
            temporary.symlink_to(source.resolve())
        else:
            shutil.copyfile(source, temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
