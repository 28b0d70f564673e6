"""Writes a backup: the files of vaults, and copies of the databases that cannot be rebuilt."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.models import Problem, Vault, extended
from djinn_memory.notes.dates import moment
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.store import sqlite
from djinn_memory.store.inspection import copy_database
from djinn_memory.system.files import (
    expand,
    move_to_free_name,
    remove_leftovers,
    scratch_path,
    sync_folder,
)
from djinn_memory.upkeep.backup.archive import ArchiveWriter, read_archive
from djinn_memory.upkeep.backup.requests import (
    CONFIG,
    FORMAT,
    LEDGER,
    WORKING,
    CreateBackup,
    CreatedBackup,
    Manifest,
    content_of,
)


class Backups(Namespace, name="backups"):
    """Backups of a home. `backup.restore.restore_backup` restores a home from one."""

    @operation(CreateBackup, recover=False, patient=True, rights="person", positional=("file",))
    def create(self, request: CreateBackup) -> CreatedBackup:
        """Write vaults, ledger, working memory and settings into one archive, and verify it.

        Index and vectors are left out, because they can be rebuilt. Raises `Refused` when the file
        exists.
        """
        # What hooks recorded is in no vault until it is taken in.
        self.runtime.take_in(None)
        return _create_backup(self.runtime.home, request, self.runtime.now())


def _create_backup(home: Home, request: CreateBackup, now: datetime) -> CreatedBackup:
    """Write an archive and verify it. The file gets its name when it is complete.

    Raises `Refused` when the file exists.
    """
    file = expand(request.file).absolute()
    vaults = home.named(request.vaults)
    if os.path.lexists(file):
        raise Refused(f"{file} already exists; choose another file name")
    if not file.parent.is_dir():
        raise NotFound(
            f"the folder {file.parent} does not exist; create it or choose another folder"
        )
    remove_leftovers(file.parent)
    scratch = scratch_path(file)
    left_out: list[Problem] = []
    problems: list[Problem] = []
    try:
        descriptor = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            writer = ArchiveWriter(target)
            left_out += _add_state(writer, home)
            for vault in vaults:
                _add_vault(writer, vault, {home.state, scratch}, left_out, problems)
            names = tuple(vault.name for vault in vaults)
            manifest = Manifest(FORMAT, moment(now), names, tuple(writer.files))
            writer.finish(manifest)
            target.flush()
            os.fsync(target.fileno())
        if read_archive(scratch) != manifest:
            raise Refused(f"{file} was not written correctly; check the disk")
        size = scratch.stat().st_size
        try:
            move_to_free_name(scratch, file)
        except FileExistsError:
            raise Refused(f"{file} already exists; choose another file name") from None
    finally:
        scratch.unlink(missing_ok=True)
    sync_folder(file.parent)
    content = content_of(manifest)
    return extended(
        content, CreatedBackup, file=file, bytes=size, left_out=left_out, problems=problems
    )


def _add_state(writer: ArchiveWriter, home: Home) -> Iterator[Problem]:
    """Add settings, ledger and working memory."""
    writer.add(CONFIG, home.config_path)
    databases = {LEDGER: home.ledger_path, WORKING: home.working_path}
    if home.config.working_memory:
        del databases[WORKING]
        yield Problem("working memory", "is stored on a server and is not in the backup")
    with TemporaryDirectory(prefix="djinn-") as folder:
        for path, database in databases.items():
            if not sqlite.empty(database):
                copy = Path(folder, database.name)
                copy_database(database, copy)
                writer.add(path, copy)


def _add_vault(
    writer: ArchiveWriter,
    vault: Vault,
    skipped: set[Path],
    left_out: list[Problem],
    problems: list[Problem],
) -> None:
    """Add every file of a vault: notes, attachments, trash and hidden files."""
    if not vault.root.is_dir():
        raise NotFound(
            f"the folder of vault {vault.name} does not exist: {vault.root}; restore it, or "
            "name the "
            "other vaults"
        )
    root = vault.root.resolve()
    skipped = {*skipped, *(root / inner for inner in vault.inner)}
    unread: list[Path] = []
    for path in _files(root, skipped, unread):
        place = f"{vault.name}/{path.relative_to(root).as_posix()}"
        if why := _why_not(path):
            left_out.append(Problem(place, f"{why} and is not in the backup"))
            continue
        try:
            writer.add(f"vaults/{place}", path)
        except FileNotFoundError:
            # It was removed since its folder was listed.
            continue
        except PermissionError:
            unread.append(path)
    for path in unread:
        place = f"{vault.name}/{path.relative_to(root).as_posix()}"
        problems.append(Problem(place, "cannot be read and is not in the backup"))


def _files(root: Path, skipped: set[Path], unread: list[Path]) -> Iterator[Path]:
    """The files and links in a folder, sorted.

    Folders that cannot be listed are added to `unread`.
    """
    for folder, names, files in os.walk(
        root, onerror=lambda error: unread.append(Path(error.filename))
    ):
        links = [name for name in names if Path(folder, name).is_symlink()]
        names[:] = sorted(
            name for name in names if name not in links and Path(folder, name) not in skipped
        )
        yield from (
            Path(folder, name)
            for name in sorted([*files, *links])
            if Path(folder, name) not in skipped
        )


def _why_not(path: Path) -> str:
    """The reason why a backup leaves out a file; empty if it does not."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return ""
    if stat.S_ISLNK(mode):
        return "is a link"
    if "\\" in path.name:
        return "has a backslash in its name"
    return "" if stat.S_ISREG(mode) else "is not a file"
