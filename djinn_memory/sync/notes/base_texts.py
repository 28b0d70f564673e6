"""Keeps the texts that home and server last had in common, for merges with `sync.merge: clean`."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from djinn_memory.memories.entities.split import taken_back
from djinn_memory.notes.note_file import content_hash
from djinn_memory.system.files import create, make_folder


class BaseTexts:
    """Texts by their hashes, each in a file of a folder. A missing text only prevents a merge."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, data: bytes) -> None:
        """Keep a text."""
        with suppress(OSError):
            make_folder(self._folder, private=True)
            create(self._folder / content_hash(data).hex(), data, private=True)

    def merged(self, base: bytes, local: bytes, server: bytes) -> bytes | None:
        """`local` with the changes that the server made to the text with the hash `base`.

        None if both changed the same lines, or neighbours of them, or if the text was not kept.
        """
        try:
            text = (self._folder / base.hex()).read_bytes()
        except OSError:
            return None
        if content_hash(text) != base or b"\0" in text + local + server:
            return None
        return taken_back(server, text, local)

    def prune(self, needed: Collection[bytes]) -> None:
        """Remove all texts but those with these hashes."""
        names = {digest.hex() for digest in needed}
        with suppress(OSError):
            for file in self._folder.iterdir():
                if file.name not in names:
                    file.unlink(missing_ok=True)
