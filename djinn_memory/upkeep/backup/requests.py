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
    """Make a home from an archive."""

    file: Annotated[Path, Meta(description="A file that `djinn backup create` wrote.")]
    folder: Annotated[
        Path | None,
        Meta(description="The folder of the new home; else --home, DJINN_HOME or ~/djinn."),
    ] = None


class ArchivedFile(Struct, frozen=True):
    """A file in an archive."""

    path: str
    """Its place in the home."""
    size: int
    """Its bytes."""
    sha256: str
    """The hash of its bytes."""


class Manifest(Struct, frozen=True):
    """The last file of an archive, which says what the others are."""

    format: str
    """`djinn.backup/1`."""
    created: str
    """When it was written, as ISO 8601 in UTC."""
    vaults: tuple[str, ...]
    """The vaults in it."""
    files: tuple[ArchivedFile, ...]
    """Every other file."""


class BackupContent(Struct, frozen=True):
    """What an archive holds."""

    vaults: dict[str, int]
    """The number of files of each vault."""
    ledger: bool
    """Whether it has the ledger: uses, ratings, gaps, calls of tools."""
    working: bool
    """Whether it has working memory."""


class CreatedBackup(BackupContent, frozen=True):
    """An archive that was written and read back."""

    file: Path
    """The archive."""
    bytes: int
    """Its size."""
    left_out: Sequence[Problem]
    """What no backup holds, such as links."""
    problems: Sequence[Problem]
    """Files that could not be read, and are not in it."""


class RestoredHome(BackupContent, frozen=True):
    """A home that was made from an archive."""

    home: Path
    """Its folder."""
    created: str
    """When the archive was written."""
    problems: Sequence[Problem]
    """What is not as it was."""


def content_of(manifest: Manifest) -> BackupContent:
    """What an archive holds, by its manifest."""
    paths = [file.path for file in manifest.files]
    vaults = {
        name: sum(path.startswith(f"vaults/{name}/") for path in paths) for name in manifest.vaults
    }
    return BackupContent(vaults, LEDGER in paths, WORKING in paths)


CONFIG, LEDGER, WORKING = "config.yaml", ".djinn/ledger.db", ".djinn/working.db"
"""The places of files in an archive, which are those in a home with the usual `state_dir`."""
