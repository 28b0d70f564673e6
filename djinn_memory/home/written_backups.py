"""The archives that a home wrote: which were the last, and which make room for a new one."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import msgspec
from msgspec import Struct

from djinn_memory.home.home import Home
from djinn_memory.secrets import mask
from djinn_memory.system.files import file_version, make_folder, write_atomic


class WrittenBackup(Struct, frozen=True):
    """An archive that this home wrote."""

    home: Path
    """The folder of the home. A copy of it keeps its own archives."""
    file: Path
    created: str
    """The time when it was written, as ISO 8601 in UTC."""
    version: tuple[int, int, int] | None
    """The file as it was written. A file that another program wrote there has another one."""
    vaults: tuple[str, ...] | None
    """The vaults that were asked for, none for all; null if the user named the file."""

    @property
    def left(self) -> bool:
        """Whether the archive is still where it was written, unchanged."""
        return self.version is not None and file_version(self.file) == self.version


def default_file(home: Home, now: datetime) -> Path:
    """The archive that is written if the user names none: `~/djinn-backups/NAME-DATE-TIME.tar.gz`.

    The name is that of the home's folder; the time is local.
    """
    return default_folder() / f"{home.root.name}-{now.astimezone():%Y-%m-%d-%H%M%S}.tar.gz"


def default_folder() -> Path:
    """The folder of archives whose file the user does not name."""
    return Path.home() / "djinn-backups"


def written_backups(home: Home) -> list[WrittenBackup]:
    """The archives that this home wrote, the oldest first."""
    with suppress(OSError, msgspec.DecodeError):
        data = _list(home).read_bytes()
        written = msgspec.json.decode(data, type=list[WrittenBackup], dec_hook=_path)
        return [backup for backup in written if backup.home == home.root]
    return []


def record(home: Home, new: WrittenBackup, keep: int) -> list[Path]:
    """Remember an archive, and delete those of its kind before the last `keep`. Returns these.

    Archives of the same vaults are of one kind. An archive whose file the user named is never
    deleted, and neither is a file that is not as this home wrote it. A path that looks like a
    secret is not kept.
    """
    written = [*written_backups(home), new]
    mine = [backup for backup in written if backup.left and backup.vaults is not None]
    alike = [backup for backup in mine if backup.vaults == new.vaults]
    deleted = []
    for backup in alike[:-keep]:
        with suppress(OSError):
            backup.file.unlink()
            deleted.append(backup.file)
    rest = [
        backup
        for backup in written
        if (backup.left or backup is new) and mask(str(backup.file)) == str(backup.file)
    ]
    make_folder(home.state, private=True)
    write_atomic(_list(home), msgspec.json.encode(rest, enc_hook=_escaped), private=True)
    return deleted


def _list(home: Home) -> Path:
    return home.state / "backups.json"


def _escaped(path: Any) -> str:
    """A path as text. It may have bytes that are not UTF-8."""
    return quote(bytes(path))


def _path(_: type, text: Any) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(text)))
