"""Writes a backup of a home as one archive, and restores a home from it."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeVar

from msgspec.structs import replace

from djinn_memory.errors import ConfigError, NotFound, Refused, Unavailable
from djinn_memory.home import config as configuration
from djinn_memory.home import setup
from djinn_memory.home.home import Change, Home
from djinn_memory.home.written_backups import WrittenBackup, default_file, default_folder, record
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import moment
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.store import faults, sqlite
from djinn_memory.store.expiring.sqlite import SCHEMA as WORKING_SCHEMA
from djinn_memory.store.inspection import copy_database
from djinn_memory.store.ledger import SCHEMA as LEDGER_SCHEMA
from djinn_memory.system.files import (
    creating,
    expand,
    file_version,
    is_abandoned,
    make_folder,
    move_to_free_name,
    remove_leftovers,
    scratch_path,
    sync_folder,
)
from djinn_memory.upkeep import requests
from djinn_memory.upkeep.archive import ArchiveWriter, Sink, read_archive

C = TypeVar("C", bound=requests.BackupContent)


class Backups(Namespace, name="backups"):
    """Backups of a home. `restore_backup` restores a home from one."""

    @operation(
        requests.CreateBackup, recover=False, patient=True, rights="person", positional=("file",)
    )
    def create(self, request: requests.CreateBackup) -> requests.CreatedBackup:
        """Write vaults, ledger, working memory and settings into one archive, and verify it.

        Index and vectors are left out, because they can be rebuilt. Raises `Refused` when the file
        exists. Without a file, the archive has the time in its name, and of the archives that
        the home named so, all but the last `backup.keep` are deleted.
        """
        # The recordings of hooks are in no vault until they are taken in.
        self.runtime.take_in(None)
        home, now = self.runtime.home, self.runtime.now()
        if request.file is None:
            file = default_file(home, now)
            make_folder(file.parent, private=True)
        else:
            file = expand(request.file).absolute()
        vaults = tuple(request.vaults)
        created = _create_backup(home, file, vaults, now)
        kind = vaults if request.file is None else None
        written = WrittenBackup(home.root, file, moment(now), file_version(file), kind)
        return replace(created, deleted=record(home, written, home.config.backup.keep))


def _create_backup(
    home: Home, file: Path, names: tuple[str, ...], now: datetime
) -> requests.CreatedBackup:
    """Write an archive and verify it. The file gets its name when it is complete.

    Raises `Refused` when the file exists.
    """
    vaults = home.named(names)
    scratch = scratch_path(file)
    skipped = {home.state, scratch, default_folder().resolve()}
    left_out: list[Problem] = []
    problems: list[Problem] = []
    with creating(file), ExitStack() as stack:
        if os.path.lexists(file):
            raise FileExistsError
        remove_leftovers(file.parent)
        stack.callback(scratch.unlink, missing_ok=True)
        descriptor = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            writer = ArchiveWriter(target)
            left_out += _add_state(writer, home)
            for vault in vaults:
                _add_vault(writer, vault, skipped, left_out, problems)
            packed = tuple(vault.name for vault in vaults)
            manifest = requests.Manifest(requests.FORMAT, moment(now), packed, tuple(writer.files))
            writer.finish(manifest)
            target.flush()
            os.fsync(target.fileno())
        if read_archive(scratch) != manifest:
            raise Refused(f"{file} was not written correctly; check the disk")
        size = scratch.stat().st_size
        move_to_free_name(scratch, file)
    sync_folder(file.parent)
    more = {"left_out": left_out, "problems": problems, "deleted": ()}
    return _content_of(manifest, requests.CreatedBackup, file=file, bytes=size, **more)


def _content_of(manifest: requests.Manifest, kind: type[C], **more: Any) -> C:
    """The content of an archive, from its manifest, with the other fields of `kind`."""
    paths = [file.path for file in manifest.files]
    vaults = {
        name: sum(path.startswith(f"vaults/{name}/") for path in paths) for name in manifest.vaults
    }
    return kind(vaults, requests.LEDGER in paths, requests.WORKING in paths, **more)


def _add_state(writer: ArchiveWriter, home: Home) -> Iterator[Problem]:
    """Add settings, ledger and working memory."""
    writer.add(requests.CONFIG, home.config_path)
    databases = {requests.LEDGER: home.ledger_path, requests.WORKING: home.working_path}
    if home.config.working_memory:
        del databases[requests.WORKING]
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
            f"the folder of vault {vault.name} does not exist: {vault.root}; restore it, or name "
            "the other vaults"
        )
    root = vault.root.resolve()
    skipped = {*skipped, *(root / inner for inner in vault.inner)}
    unread: list[Path] = []
    for path in _files_below(root, skipped, unread):
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


def _files_below(root: Path, skipped: set[Path], unread: list[Path]) -> Iterator[Path]:
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


STATE = ".djinn"
"""The `state_dir` of a restored home. The original one may belong to another home."""

PREVIOUS_CONFIG = "config.before-restore.yaml"
"""The settings of the empty home that was replaced."""

_STAGING = re.compile(r"\.djinn-[0-9a-f]{16}\.restore")

RESERVE = 100 << 20
"""Number of bytes that stay free on the disk."""


def restore_backup(archive: Path, folder: Path) -> requests.RestoredHome:
    """Restore a home into `folder`: a missing or empty one, or a home without notes and ledger.

    All vaults of the archive are then in `vaults/`, wherever they were before. Raises `Refused` for
    a folder with other content, and for a damaged or hostile archive, and then changes nothing.
    """
    archive, root = expand(archive).absolute(), expand(folder).absolute().resolve()
    _require_empty(root)
    make_folder(root.parent)
    _remove_abandoned(root.parent)
    staging = root.parent / f".djinn-{os.urandom(8).hex()}.restore"
    staging.mkdir(0o700)
    try:
        manifest = read_archive(archive, _sink(staging))
        problems = list(_adapt(staging, archive, manifest))
        setup.init(staging)
        _put_in_place(staging, root)
    except OSError as error:
        why = error.strerror or error
        raise Unavailable(f"{archive} cannot be restored in {root.parent}: {why}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    sync_folder(root.parent)
    return _content_of(
        manifest, requests.RestoredHome, home=root, created=manifest.created, problems=problems
    )


def _remove_abandoned(folder: Path) -> None:
    """Remove the files that killed runs built in a folder long ago."""
    for path in folder.glob(".djinn-*.restore"):
        if _STAGING.fullmatch(path.name) and is_abandoned(path):
            shutil.rmtree(path, ignore_errors=True)


def _require_empty(root: Path) -> None:
    """Raise `Refused` if data would be lost."""
    if not os.path.lexists(root) or (root.is_dir() and not any(root.iterdir())):
        return
    if root.is_dir() and (root / requests.CONFIG).is_file():
        home = Home(root)
        expected = {home.state, root / requests.CONFIG}
        files = (path for path in root.rglob("*") if not path.is_dir() or path.is_symlink())
        lost = any(expected.isdisjoint((path, *path.parents)) for path in files)
        databases = (home.ledger_path, home.working_path)
        inside = home.state.is_relative_to(root)
        if inside and not lost and not any(path.exists() for path in databases):
            return
    raise Refused(f"{root} is not empty; choose a folder that is empty or does not exist")


def _sink(staging: Path) -> Sink:
    """Opens new files in `staging` that only the user can access, with their modification times.

    The date of a note may depend on the time of its file.
    """

    def sink(path: str, changed: float) -> BinaryIO:
        target = staging / path
        make_folder(target.parent, private=True)
        if shutil.disk_usage(staging).free < RESERVE:
            raise Unavailable(f"the disk of {staging.parent} is nearly full; free disk space")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        return _DatedFile(os.open(target, flags, 0o600), changed)

    return sink


class _DatedFile(FileIO):
    """A new file that gets a given modification time when it is closed."""

    def __init__(self, descriptor: int, changed: float) -> None:
        super().__init__(descriptor, "wb")
        self._changed = changed

    def close(self) -> None:
        if not self.closed:
            # A time that no clock shows stays the present.
            with suppress(OSError, OverflowError, ValueError):
                os.utime(self.fileno(), (self._changed, self._changed))
        super().close()


def _adapt(staging: Path, archive: Path, manifest: requests.Manifest) -> Iterator[Problem]:
    """Adapt the settings to the folders of the new home, and check settings and databases."""
    path = staging / requests.CONFIG
    try:
        text = path.read_text(encoding="utf-8-sig")
        config = configuration.validate(configuration.parse(text, requests.CONFIG), requests.CONFIG)
        unknown = set(manifest.vaults) - config.vaults.keys()
        if unknown:
            raise ConfigError(f"they have no vault {min(unknown)}")
        changes: list[Change] = []
        if config.state_dir != STATE:
            changes.append((("state_dir",), STATE))
            yield Problem("state_dir", f"was {config.state_dir} and is now {STATE}")
        for name in manifest.vaults:
            (staging / "vaults" / name).mkdir(0o700, parents=True, exist_ok=True)
            if config.vaults[name].path != f"vaults/{name}":
                changes.append((("vaults", name, "path"), f"vaults/{name}"))
                yield Problem(name, f"was in {config.vaults[name].path} and is now inside the home")
        text, data = configuration.splice(text, changes, requests.CONFIG)
        configuration.validate(data, requests.CONFIG)
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{archive} is not a complete djinn backup: it has no settings") from error
    except ConfigError as error:
        raise Refused(f"{archive}: its settings cannot be used: {error}") from None
    path.write_text(text, encoding="utf-8")
    for place, schema in ((requests.LEDGER, LEDGER_SCHEMA), (requests.WORKING, WORKING_SCHEMA)):
        if (staging / place).exists() and (fault := faults.fault(staging / place, schema)):
            raise Refused(f"{archive}: its {Path(place).stem} database {fault}")


def _put_in_place(staging: Path, root: Path) -> None:
    """Rename the new home to its final path. If this fails, the previous folder is restored."""
    aside = staging.with_suffix(".before")
    try:
        if (root / requests.CONFIG).is_file():
            shutil.copy2(root / requests.CONFIG, staging / PREVIOUS_CONFIG)
        if root.exists():
            root.rename(aside)
        try:
            staging.rename(root)
        except OSError:
            if aside.exists():
                aside.rename(root)
            raise
    except OSError as error:
        why = error.strerror or error
        raise Unavailable(f"{root} cannot be created: {why}; choose another folder") from None
    shutil.rmtree(aside, ignore_errors=True)
