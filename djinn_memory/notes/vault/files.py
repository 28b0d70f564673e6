"""Reads, changes and trashes the notes of a vault on disk, and no files outside the vault."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from djinn_memory.errors import NotFound, Refused, Remedy
from djinn_memory.home.access import is_private
from djinn_memory.models import Vault
from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.system.files import inside, make_folder, revise

TRASH = ".trash"

_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file without waiting: opening a FIFO would block until a writer comes."""


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


def trash(vault: Vault, path: str) -> Path:
    """Move a note to a free name in the vault's `.trash/`; returns the new path."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; delete the file yourself")
    source = vault.root.resolve() / path
    inside(vault.root, Path(path).parent)
    if not source.is_symlink() and not source.is_file():
        update = Remedy("index", {}, "update the index")
        raise NotFound(f"{vault.name}/{path} no longer exists", update)
    folder = inside(vault.root, Path(TRASH, path).parent)
    make_folder(folder, private=is_private(vault))
    name = PurePosixPath(path)
    target, number = folder / name.name, 2
    while target.exists() or target.is_symlink():
        target, number = folder / f"{name.stem}-{number}{name.suffix}", number + 1
    source.rename(target)
    return target


def trashed(path: str) -> bool:
    """Whether a path is inside a vault's trash."""
    return path.startswith(f"{TRASH}/")
