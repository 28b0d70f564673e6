"""Reads and changes the files of a vault. A file that somebody changed meanwhile is left alone."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath

from djinn_memory.errors import Changed, OutsideVault, Refused
from djinn_memory.home.access import is_private
from djinn_memory.memories.entities.split import taken_back
from djinn_memory.models import Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.note_file import content_hash
from djinn_memory.sync.notes.names import why_not
from djinn_memory.system import files


class VaultFiles:
    """The files of a vault. Paths are relative to it, with `/`.

    A path may come from a server. Every method raises `Refused` for a path that leads out of the
    vault, into a hidden folder or into another vault, and for one that the system cannot use.
    """

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self._unsynced: list[Path] = []

    @cached_property
    def folds(self) -> bool:
        """Whether the file system finds a file by a name in another case."""
        root = self.vault.root.resolve()
        with suppress(OSError):
            return root.with_name(root.name.swapcase()).samefile(root)
        return False

    def exists(self, path: str) -> bool:
        """Whether there is anything at a path, as far as it can be seen."""
        try:
            os.lstat(self._place(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            # A file that cannot be seen, such as one in a locked folder, was not deleted.
            return True
        return True

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None if there is no file."""
        place = self._place(path)
        if place.is_symlink():
            raise Refused(f"{self.vault.name}/{path} is a symbolic link; replace it with the file")
        try:
            return files.read_regular(place)
        except FileNotFoundError:
            return None

    def hash(self, path: str) -> bytes | None:
        """The hash of the bytes of a file; None if there is no file."""
        data = self.read(path)
        return None if data is None else content_hash(data)

    def is_link(self, path: str) -> bool:
        """Whether a file is a symbolic link, which is not synchronized."""
        return self._place(path).is_symlink()

    def stat(self, path: str) -> str | None:
        """Size and times of a file as a text; None if there is no file."""
        with suppress(FileNotFoundError):
            info = self._place(path).stat(follow_symlinks=False)
            return f"{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}"
        return None

    def create(self, path: str, data: bytes) -> None:
        """Write a new file. Raises `Changed` if there is one.

        It survives a power cut only after `flush`.
        """
        place = self._place(path)
        private = is_private(self.vault)
        files.make_folder(place.parent, private=private)
        try:
            files.create(place, data, private=private, sync=False)
        except FileExistsError:
            raise Changed(place) from None
        self._unsynced.append(place)

    def flush(self) -> None:
        """Make the files that were created survive a power cut."""
        files.sync_files(self._unsynced)
        self._unsynced.clear()

    def replace(self, path: str, data: bytes, was: bytes) -> None:
        """Replace a file whose bytes are `was`. Raises `Changed` for other bytes."""
        files.replace(self._place(path), data, was)

    def move(self, path: str, target: str) -> None:
        """Rename a file. Raises `Changed` if there is a file at the target, or none at the path."""
        source, place = self._place(path), self._place(target)
        files.make_folder(place.parent, private=is_private(self.vault))
        try:
            if self._same(source, place):
                source.rename(place)
            else:
                files.move_to_free_name(source, place)
        except (FileExistsError, FileNotFoundError):
            raise Changed(place) from None
        files.sync_folder(place.parent)
        self._remove_empty_folders(path)

    def remove(self, path: str, was: bytes, *, copies: bool = True) -> None:
        """Move a file to the trash, or with `copies` false remove it for good.

        Raises `Changed` if its bytes are not `was`.
        """
        place = self._place(path)
        if self.read(path) != was:
            raise Changed(place)
        if copies:
            disk.trash(self.vault, place.relative_to(self.vault.root.resolve()).as_posix())
        else:
            place.unlink(missing_ok=True)
        self._remove_empty_folders(path)

    def _same(self, source: Path, target: Path) -> bool:
        """Whether two names are of one file, on a file system that ignores case."""
        with suppress(FileNotFoundError):
            return source != target and source.samefile(target)
        return False

    def _remove_empty_folders(self, path: str) -> None:
        """Remove the folders above a file that is gone, as far as nothing else is in them."""
        root = self.vault.root.resolve()
        with suppress(OSError, ValueError):
            for folder in PurePosixPath(path).parents[:-1]:
                (root / folder).rmdir()

    def _place(self, path: str) -> Path:
        where = f"{self.vault.name}/{path}"
        if why := why_not(path):
            raise OutsideVault(f"{where} {why}")
        for folder in (path, *map(str, PurePosixPath(path).parents)):
            if folder in self.vault.inner:
                raise OutsideVault(f"{where} is in the folder of another vault")
        relative = PurePosixPath(path)
        return files.inside(self.vault.root, str(relative.parent)) / relative.name


class BaseTexts:
    """Texts by their hashes, each in a file of a folder. A missing text only prevents a merge."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, data: bytes) -> None:
        """Keep a text."""
        with suppress(OSError):
            files.make_folder(self._folder, private=True)
            files.create(self._folder / content_hash(data).hex(), data, private=True)

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
