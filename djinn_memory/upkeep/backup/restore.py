"""Restores a home from a backup. The home is built in a scratch folder, then renamed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from djinn_memory.errors import ConfigError, Refused, Unavailable
from djinn_memory.home import config as configuration
from djinn_memory.home import setup
from djinn_memory.home.home import Change, Home
from djinn_memory.models import Problem, extended
from djinn_memory.store import faults
from djinn_memory.store.expiring.sqlite import SCHEMA as WORKING_SCHEMA
from djinn_memory.store.ledger import SCHEMA as LEDGER_SCHEMA
from djinn_memory.system.files import expand, is_abandoned, make_folder, sync_folder
from djinn_memory.upkeep.backup.archive import Sink, read_archive
from djinn_memory.upkeep.backup.requests import (
    CONFIG,
    LEDGER,
    WORKING,
    Manifest,
    RestoredHome,
    content_of,
)

STATE = ".djinn"
"""The `state_dir` of a restored home. The original one may belong to another home."""

PREVIOUS_CONFIG = "config.before-restore.yaml"
"""The settings of the empty home that was replaced."""

_STAGING = re.compile(r"\.djinn-[0-9a-f]{16}\.restore")

RESERVE = 100 << 20
"""Number of bytes that stay free on the disk."""


def restore_backup(archive: Path, folder: Path) -> RestoredHome:
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
    content = content_of(manifest)
    return extended(content, RestoredHome, home=root, created=manifest.created, problems=problems)


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed runs built in a folder long ago."""
    for path in folder.glob(".djinn-*.restore"):
        if _STAGING.fullmatch(path.name) and is_abandoned(path):
            shutil.rmtree(path, ignore_errors=True)


def _require_empty(root: Path) -> None:
    """Raise `Refused` if data would be lost."""
    if not os.path.lexists(root) or (root.is_dir() and not any(root.iterdir())):
        return
    if root.is_dir() and (root / CONFIG).is_file():
        home = Home(root)
        kept = {home.state, root / CONFIG}
        files = (path for path in root.rglob("*") if not path.is_dir() or path.is_symlink())
        lost = next(
            (path for path in files if not any(each in kept for each in (path, *path.parents))),
            None,
        )
        databases = (home.ledger_path, home.working_path)
        lost = lost or next((path for path in databases if path.exists()), None)
        inside = home.state.is_relative_to(root)
        if inside and not lost:
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


def _adapt(staging: Path, archive: Path, manifest: Manifest) -> Iterator[Problem]:
    """Adapt the settings to the folders of the new home, and check settings and databases."""
    path = staging / CONFIG
    try:
        text = path.read_text(encoding="utf-8-sig")
        config = configuration.validate(configuration.parse(text, CONFIG), CONFIG)
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
        text, data = configuration.splice(text, changes, CONFIG)
        configuration.validate(data, CONFIG)
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{archive} is not a complete djinn backup: it has no settings") from error
    except ConfigError as error:
        raise Refused(f"{archive}: its settings cannot be used: {error}") from None
    path.write_text(text, encoding="utf-8")
    for place, schema in ((LEDGER, LEDGER_SCHEMA), (WORKING, WORKING_SCHEMA)):
        if (staging / place).exists() and (fault := faults.fault(staging / place, schema)):
            raise Refused(f"{archive}: its {Path(place).stem} database {fault}")


def _put_in_place(staging: Path, root: Path) -> None:
    """Rename the new home to its final path. If this fails, the previous folder is restored."""
    aside = staging.with_suffix(".before")
    try:
        if (root / CONFIG).is_file():
            shutil.copy2(root / CONFIG, staging / PREVIOUS_CONFIG)
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
