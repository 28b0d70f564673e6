"""Requests and answers of backups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.models import Problem

FORMAT = "djinn.backup/1"


class CreateBackup(Struct, frozen=True):
    """Write vaults, ledger, working memory and settings into one archive."""

    file: Annotated[Path, Meta(description="The new file, such as memory.tar.gz.")]
    vaults: Annotated[
        Sequence[str], Meta(description="Only these vaults. Default: all vaults.")
    ] = ()


class RestoreBackup(Struct, frozen=True):
    """Restore a home from an archive."""

    file: Annotated[Path, Meta(description="A file that `djinn backup create` wrote.")]
    folder: Annotated[
        Path | None,
        Meta(description="The folder of the new home; else --home, DJINN_HOME or ~/djinn."),
    ] = None


class ArchivedFile(Struct, frozen=True):
    """A file in an archive."""

    path: str
    """The path of the file in the home."""
    size: int
    """The size of the file in bytes."""
    sha256: str
    """The SHA-256 of the file."""


class Manifest(Struct, frozen=True):
    """The last file of an archive. It describes the other files."""

    format: str
    """`djinn.backup/1`."""
    created: str
    """The time when the archive was written, as ISO 8601 in UTC."""
    vaults: tuple[str, ...]
    """The vaults in the archive."""
    files: tuple[ArchivedFile, ...]
    """All other files."""


class BackupContent(Struct, frozen=True):
    """The content of an archive."""

    vaults: dict[str, int]
    """The number of files of each vault."""
    ledger: bool
    """Whether it contains the ledger: uses, ratings, gaps, tool calls."""
    working: bool
    """Whether it contains working memory."""


class CreatedBackup(BackupContent, frozen=True):
    """The result of creating an archive."""

    file: Path
    """The path of the archive."""
    bytes: int
    """The size of the archive."""
    left_out: Sequence[Problem]
    """Files that backups leave out, such as links."""
    problems: Sequence[Problem]
    """Files that could not be read and are not in the archive."""


class RestoredHome(BackupContent, frozen=True):
    """The result of restoring a home."""

    home: Path
    """The folder of the home."""
    created: str
    """The time when the archive was written."""
    problems: Sequence[Problem]
    """Differences from the original home."""


def content_of(manifest: Manifest) -> BackupContent:
    """The content of an archive, from its manifest."""
    paths = [file.path for file in manifest.files]
    vaults = {
        name: sum(path.startswith(f"vaults/{name}/") for path in paths) for name in manifest.vaults
    }
    return BackupContent(vaults, LEDGER in paths, WORKING in paths)


CONFIG, LEDGER, WORKING = "config.yaml", ".djinn/ledger.db", ".djinn/working.db"
"""The paths of files in an archive. They are the same as in a home with the default `state_dir`."""
