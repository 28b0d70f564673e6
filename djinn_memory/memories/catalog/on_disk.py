"""Reads the notes of a vault from the disk, where the index cannot be asked or must not decide."""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
from djinn_memory.models import Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.vault import walk


def notes_on_disk(
    home: Home, vault: Vault, pattern: re.Pattern[bytes]
) -> Iterator[tuple[str, Note]]:
    """The paths and notes of the files of a vault in which a pattern occurs.

    This costs a read of every file. Raises `OSError`, or `Unavailable`, for a file or folder that
    cannot be read.
    """
    listing = walk(vault, home.config.exclude)
    if listing.unseen:
        raise Unavailable(f"{vault.name}/{listing.unseen[0]} cannot be read; check its permissions")
    for file in listing.files:
        data = disk.read(vault, file.path)
        if pattern.search(data):
            yield file.path, parse(file.path, data, vault.dialect)
