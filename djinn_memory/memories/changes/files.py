"""Brings files of vaults from the content before a plan to the content after it, and back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from djinn_memory.errors import Changed, Refused, Unavailable
from djinn_memory.home.access import is_private
from djinn_memory.memories.changes.plan import FileChange, digest
from djinn_memory.models import Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.vault import MAX_BYTES
from djinn_memory.system.files import create, inside, make_folder, replace, set_saved, sync_folder

Vaults = Mapping[str, Vault]
"""Vaults by their ids."""


def current(vault: Vault, path: str) -> bytes | None:
    """The bytes of a file now; None if it does not exist.

    Raises `Refused` for what is not a file, or is too large for a note.
    """
    target = place(vault, path)
    try:
        info = target.stat()
        if not stat.S_ISREG(info.st_mode):
            raise Refused(f"{vault.name}/{path} is not a file")
        if info.st_size > MAX_BYTES:
            raise Refused(f"{vault.name}/{path} is too large for a note; change it yourself")
        return target.read_bytes()
    except FileNotFoundError:
        if target.is_symlink():
            raise Refused(f"{vault.name}/{path} is a broken link; remove it first") from None
        return None


def mode_of(vault: Vault, path: str) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(place(vault, path).stat().st_mode)


def place(vault: Vault, path: str) -> Path:
    """The file of a path; `OutsideVault` if it is not in the vault. A link as the file stays."""
    inside(vault.root, path)
    relative = PurePosixPath(path)
    return inside(vault.root, str(relative.parent)) / relative.name


def check_writable(vault: Vault, path: str) -> None:
    """Raise `Unavailable` if the folder of a path, or the nearest that exists, is read-only."""
    folder = place(vault, path).parent
    folder = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Unavailable(f"{folder} cannot be written; correct the permissions of the folder")


def missing_folders(vault: Vault, path: str) -> list[str]:
    """The folders that must be created for a file, outer folders first."""
    parents = [str(parent) for parent in PurePosixPath(path).parents if str(parent) != "."]
    return [parent for parent in reversed(parents) if not (vault.root / parent).is_dir()]


def apply(
    vault: Vault,
    file: FileChange,
    data: bytes | None,
    time_ns: int | None = None,
    trash: bool = False,
) -> None:
    """Change a file to `data`, or remove it. Raises `Changed` if it is not as planned.

    With `time_ns`, it was last saved at that time, in nanoseconds since 1970. With `trash`, a
    removed file goes to the trash of its vault.
    """
    target = place(vault, file.path)
    before = current(vault, file.path)
    if digest(before) != file.before:
        raise Changed(target)
    if data is None:
        if before is not None:
            if trash:
                disk.trash(vault, file.path)
            else:
                target.unlink()
            sync_folder(target.parent)
    elif before is not None:
        replace(target, data, before)
    else:
        private = is_private(vault)
        make_folder(target.parent, private=private)
        try:
            create(target, data, private=private or (file.mode or 0o777) & 0o077 == 0)
        except FileExistsError:
            raise Changed(target) from None
        if file.mode is not None:
            target.chmod(file.mode)
    if data is not None:
        set_saved(target, time_ns)


def reversed_file(file: FileChange) -> FileChange:
    """The change that takes a change back."""
    return FileChange(file.vault, file.path, file.after, file.before, file.mode, file.domains)


def remove_folders(vaults: Vaults, folders: Iterable[tuple[str, str]]) -> None:
    """Remove folders that a plan created, if nothing is in them."""
    for vault_id, path in reversed(list(folders)):
        if vault_id in vaults:
            with suppress(OSError):
                (vaults[vault_id].root / path).rmdir()
