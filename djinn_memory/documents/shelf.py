"""Documents in a vault's folder: written whole, earlier versions kept aside."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Literal

from msgspec import Struct

from djinn_memory.documents.note import FOLDER, HISTORY
from djinn_memory.errors import OutsideVault, Refused
from djinn_memory.files import inside, sync_folder, write_atomic
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.slugs import fold, slug, unique
from djinn_memory.notes.text import decode

Keep = Literal["copy", "link", "no"]

LEFT_SECONDS = 3600
"""A file that is still being written is younger."""

HEAD = 64_000
"""Bytes of a note in which its front matter ends."""


class Place(Struct, frozen=True):
    """Where a document goes. Paths are relative to the vault."""

    note: str
    original: str | None
    """The kept file beside the note."""


def place(vault: Vault, title: str, extension: str, keep: Keep) -> Place:
    """A free place for a new document whose file is called `title`."""
    folder = inside(vault.root, FOLDER)
    taken = {fold(name) for name in os.listdir(folder)} if folder.is_dir() else set()  # noqa: PTH208
    name = unique(
        slug(title), lambda base: fold(f"{base}.md") in taken or fold(base + extension) in taken
    )
    original = None if keep == "no" else f"{FOLDER}/{name}{extension}"
    return Place(f"{FOLDER}/{name}.md", original)


def same_place(note: str, extension: str, keep: Keep) -> Place:
    """The place of a new version of the document at `note`."""
    return Place(note, None if keep == "no" else note.removesuffix(".md") + extension)


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


def sweep(vault: Vault) -> None:
    """Remove what killed processes left half written beside documents."""
    oldest = time.time() - LEFT_SECONDS
    with suppress(OutsideVault):
        for path in inside(vault.root, FOLDER).glob(".djinn-*.tmp"):
            with suppress(OSError):
                if path.lstat().st_mtime < oldest:
                    path.unlink()


def put(vault: Vault, where: Place, note: bytes, source: Path, keep: Keep) -> None:
    """Write a document and its original; nothing is left of one that cannot be written whole."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; choose another with --vault")
    target = inside(vault.root, where.note)
    target.parent.mkdir(parents=True, exist_ok=True)
    before = target.read_bytes() if target.exists() else None
    if not where.original:
        write_atomic(target, note)
        return
    # Not `inside`: an original that is a link is replaced, not followed.
    original = target.parent / PurePosixPath(where.original).name
    with _staged(source, original, keep) as staged:
        write_atomic(target, note)
        try:
            staged.replace(original)
        except BaseException:
            if before is None:
                target.unlink()
            else:
                write_atomic(target, before)
            raise
    sync_folder(original.parent)


def retire(vault: Vault, note: str, original: str | None, version: int) -> str:
    """Copy a document that is about to be replaced into the history; returns where its note lies.

    It stays in its place until the new one is whole.
    """
    folder = inside(vault.root, HISTORY)
    folder.mkdir(parents=True, exist_ok=True)
    stem, data = PurePosixPath(note).stem, inside(vault.root, note).read_bytes()

    def taken(name: str) -> bool:
        # The same bytes are of a run that was broken off; others of a note that moved away.
        there = folder / f"{name}.md"
        return os.path.lexists(there) and not (there.is_file() and there.read_bytes() == data)

    name = unique(f"{stem}.v{version}", taken)
    write_atomic(folder / f"{name}.md", data)
    if original:
        before = inside(vault.root, str(PurePosixPath(note).parent)) / PurePosixPath(original).name
        ending = before.name.removeprefix(stem) if before.name.startswith(stem) else before.suffix
        kept = folder / f"{name}{ending}"
        if os.path.lexists(before) and not os.path.lexists(kept):
            with _staged(before, kept, "link" if before.is_symlink() else "copy") as staged:
                staged.replace(kept)
            sync_folder(folder)
    return f"{HISTORY}/{name}.md"


@contextmanager
def _staged(source: Path, target: Path, keep: Keep) -> Iterator[Path]:
    """A copy of `source`, or a link to it, beside `target`: to be moved there, else removed."""
    if target.is_dir() and not target.is_symlink():
        raise IsADirectoryError(errno.EISDIR, f"{target.name} is a folder", str(target))
    temporary = target.with_name(f".djinn-{os.urandom(8).hex()}.tmp")
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
