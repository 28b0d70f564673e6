"""Brings files of vaults from the content before a plan to the content after it, and back."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from djinn_memory.errors import Changed, OutsideVault, Refused, Unavailable
from djinn_memory.home.access import is_private
from djinn_memory.memories.changes.plan import FileChange, digest, section_digest
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter, journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.vault import MAX_BYTES
from djinn_memory.system import files

Vaults = Mapping[str, Vault]
"""Vaults by their ids."""


def current(vault: Vault, path: str) -> bytes | None:
    """The bytes of a file now; None if it does not exist.

    Raises `Refused` for a path that is not a file, or a file that is too large for a note.
    """
    return _content(place(vault, path), f"{vault.name}/{path}")


def _content(target: Path, shown: str) -> bytes | None:
    try:
        info = target.stat()
        if not stat.S_ISREG(info.st_mode):
            raise Refused(f"{shown} is not a file")
        if info.st_size > MAX_BYTES:
            raise Refused(f"{shown} is too large for a note; change it yourself")
        return target.read_bytes()
    except FileNotFoundError:
        if target.is_symlink():
            raise Refused(f"{shown} is a broken link; remove it first") from None
        return None


def state(vault: Vault, file: FileChange) -> str | None:
    """The hash of a file now, as a plan has it; None for a journal, and if it does not exist."""
    if file.sections:
        return None
    if file.moved is None:
        return digest(current(vault, file.path))
    return moved_state(vault, file.path)


def moved_state(vault: Vault, path: str) -> str | None:
    """The hash of a file that only moves: of its bytes, however many, or of where a link leads."""
    source = disk.entry(vault, path)
    if source.is_symlink():
        return digest(os.fsencode(source.readlink()))
    if not source.exists():
        return None
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def without_sections(path: str, sections: Mapping[str, str], data: bytes) -> bytes | None:
    """The bytes of a journal without those of these sections that it has.

    None if only its header would be left. Raises `ValueError` if one is not as it was written.
    """
    if journal.appendable(path, data) is None:
        raise ValueError
    text = data.decode("utf-8", "ignore")
    records = journal.read(path, text).records
    there = {record.block: record.text for record in records if record.block in sections}
    if any(section_digest(text) != sections[block] for block, text in there.items()):
        raise ValueError
    rest, fields = journal.without(path, there, data), frontmatter.read(text).fields
    header = journal.header(fields.get("date", ""), fields.get("home", ""))
    return None if rest == header.encode() else rest


def place(vault: Vault, path: str) -> Path:
    """The file of a path; `OutsideVault` if it is not in the vault. A link as the file stays."""
    with suppress(OutsideVault):
        target = disk.entry(vault, path)
        # Any other file is in its folder, which is in the vault.
        if not (target.is_symlink() or target.name == ".." or "\0" in target.name):
            return target
    files.inside(vault.root, path)
    return disk.entry(vault, path)


def writable_place(vault: Vault, path: str) -> Path:
    """The file of a path, as `place`.

    Raises `Unavailable` if its folder, or the nearest that exists, is read-only.
    """
    target = place(vault, path)
    folder = next(parent for parent in target.parents if parent.is_dir())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Unavailable(f"{folder} cannot be written; correct the permissions of the folder")
    return target


def new_folders(vaults: Vaults, changes: Iterable[FileChange]) -> tuple[tuple[str, str], ...]:
    """The folders that these changes create, by vault id and path, outer folders first."""
    folders = {
        (file.vault, str(folder)): None
        for file in changes
        if file.before is None
        for folder in reversed(PurePosixPath(file.path).parents[:-1])
        if not (vaults[file.vault].root / folder).is_dir()
    }
    return tuple(folders)


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
    if file.moved is not None:
        _move(vault, file, file.moved)
    if file.moved is not None or file.sections:
        return
    target = place(vault, file.path)
    before = _content(target, f"{vault.name}/{file.path}")
    if digest(before) != file.before:
        raise Changed(target)
    if data is None:
        if before is not None:
            if trash:
                disk.trash(vault, file.path)
            else:
                target.unlink()
            files.sync_folder(target.parent)
    elif before is not None:
        files.replace(target, data, before)
    else:
        private = is_private(vault)
        files.make_folder(target.parent, private=private)
        try:
            files.create(target, data, private=private or (file.mode or 0o777) & 0o077 == 0)
        except FileExistsError:
            raise Changed(target) from None
        if file.mode is not None:
            target.chmod(file.mode)
    if data is not None:
        files.set_saved(target, time_ns)


def _move(vault: Vault, file: FileChange, other: str) -> None:
    """Move a file as it is. Raises `Changed` if it is not as planned, or its target exists."""
    paths = (file.path, other) if file.after is None else (other, file.path)
    source, target = (disk.entry(vault, path) for path in paths)
    if moved_state(vault, paths[0]) != (file.before or file.after):
        raise Changed(source)
    files.make_folder(target.parent, private=is_private(vault))
    try:
        files.move_to_free_name(source, target)
    except FileExistsError:
        raise Changed(target) from None
    files.sync_folder(target.parent)
    files.sync_folder(source.parent)


def remove_folders(vaults: Vaults, folders: Iterable[tuple[str, str]]) -> None:
    """Remove folders that a plan created, if nothing is in them."""
    for vault_id, path in reversed(list(folders)):
        if vault_id in vaults:
            with suppress(OSError):
                (vaults[vault_id].root / path).rmdir()
