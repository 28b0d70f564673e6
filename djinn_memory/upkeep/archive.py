"""The archive of a backup: a compressed tar whose last file lists the others with their hashes.

An archive may come from anyone. The reader therefore checks every path, so that no file is written
outside the home, and it limits the size of the unpacked files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

import msgspec

from djinn_memory.errors import Changed, NotFound, Refused
from djinn_memory.home.settings import NAME
from djinn_memory.upkeep.requests import CONFIG, FORMAT, LEDGER, WORKING, ArchivedFile, Manifest

MANIFEST = "manifest.json"

PIECE = 1 << 20
"""Number of bytes that are read at once."""

MOST_RATIO = 200
"""Maximum size of the files relative to the archive. Text is 3 to 20 times larger."""

GRANTED = 64 << 20
"""Size in bytes that the files of even the smallest archive may have."""

MOST_HEADER = 16 << 20
"""Maximum bytes that tarfile may read at once: it reads a file's long name into memory."""

_PLACES = frozenset({CONFIG, LEDGER, WORKING, MANIFEST})

Sink = Callable[[str, float], "BinaryIO"]
"""Opens a new file for a path of the archive, with the given modification time."""


class ArchiveWriter:
    """Writes files into an archive."""

    def __init__(self, file: BinaryIO) -> None:
        self._tar = tarfile.open(  # noqa: SIM115 - closed by `finish`
            fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT, compresslevel=6
        )
        self.files: list[ArchivedFile] = []

    def add(self, path: str, source: Path) -> None:
        """Add a file. Raises `Changed` if the file gets shorter while it is read."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(source, flags), "rb") as file:
            info = os.fstat(file.fileno())
            reader = _HashedReader(file)
            try:
                self._tar.addfile(_entry(path, info.st_size, info.st_mtime), reader)
            except OSError:
                if reader.size < info.st_size:
                    raise Changed(source) from None
                raise
        self.files.append(reader.described(path))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and end the archive."""
        # A name that is no UTF-8 has lone surrogates, which JSON can only hold escaped.
        text = json.dumps(msgspec.to_builtins(manifest))
        data = msgspec.json.format(text.encode(), indent=1)
        self._tar.addfile(_entry(MANIFEST, len(data), 0), io.BytesIO(data))
        self._tar.close()


def read_archive(archive: Path, sink: Sink | None = None) -> Manifest:
    """Check every file of an archive against its manifest. With a `sink`, write the files there.

    Raises `Refused` for anything that `ArchiveWriter` does not write. All files may have been
    written to the sink by then.
    """
    files: list[ArchivedFile] = []
    paths: set[str] = set()
    manifest: Manifest | None = None
    with _explained(archive), archive.open("rb") as opened:
        budget = _Budget(MOST_RATIO * os.fstat(opened.fileno()).st_size + GRANTED)
        stream = _Bounded(opened)
        with tarfile.TarFile(fileobj=stream) as tar:
            for member in tar:
                if manifest is not None:
                    raise ValueError("it has files after its manifest")
                path = _checked(member)
                if path in paths:
                    raise ValueError(f"it contains {path[:200]!r} twice")
                paths.add(path)
                budget.spend(member.size + tarfile.BLOCKSIZE)
                data = tar.extractfile(member)
                assert data
                if path == MANIFEST:
                    manifest = msgspec.json.decode(data.read(), type=Manifest)
                else:
                    files.append(_unpacked(path, member, data, sink))
        # The last bytes of the archive hold the checksum of all of it.
        while piece := stream.read(PIECE):
            budget.spend(len(piece))
        if manifest is None:
            raise ValueError("it is truncated")
        _compare(manifest, files)
    return manifest


def _entry(path: str, size: int, changed: float) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mtime, entry.mode = size, changed, 0o600
    return entry


def _checked(member: tarfile.TarInfo) -> str:
    """The path of a member. Raises `ValueError` for a path that no backup contains."""
    path = member.name
    parts = path.split("/")
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise ValueError(f"{path[:200]!r} is not a regular file")
    inside = all(part not in ("", ".", "..") for part in parts) and not set(path) & {"\0", "\\"}
    known = path in _PLACES or (
        len(parts) > 2 and parts[0] == "vaults" and bool(re.fullmatch(NAME, parts[1]))
    )
    if not (inside and known):
        raise ValueError(f"{path[:200]!r} does not belong in a home")
    return path


def _unpacked(
    path: str, member: tarfile.TarInfo, data: IO[bytes], sink: Sink | None
) -> ArchivedFile:
    reader = _HashedReader(data)
    with sink(path, member.mtime) if sink else Path(os.devnull).open("wb") as target:
        shutil.copyfileobj(reader, target, PIECE)
    return reader.described(path)


def _compare(manifest: Manifest, files: list[ArchivedFile]) -> None:
    if manifest.format != FORMAT:
        raise ValueError(f"its format is {manifest.format[:100]!r}")
    listed = {file.path: file for file in manifest.files}
    for file in files:
        if listed.pop(file.path, None) != file:
            raise ValueError(f"{file.path!r} does not match the manifest")
    if listed:
        raise ValueError(f"{min(listed)!r} is missing")
    vaults = {file.path.split("/")[1] for file in files if file.path.startswith("vaults/")}
    if not vaults <= set(manifest.vaults) or not all(
        re.fullmatch(NAME, name) for name in manifest.vaults
    ):
        raise ValueError("its manifest does not list its vaults")


@contextmanager
def _explained(archive: Path) -> Iterator[None]:
    """Turn every error from a damaged archive into one line."""
    try:
        yield
    except FileNotFoundError as error:
        if error.filename != str(archive):
            raise
        raise NotFound(f"no file {archive}; check the path") from None
    except (
        tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError, OverflowError,
        RecursionError,
    ) as error:  # fmt: skip
        why = " ".join(str(error).split()) or "it is damaged"
        raise Refused(f"{archive} is not a complete djinn backup: {why}") from None


class _HashedReader:
    """Reads a file and computes the hash of the bytes that were read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        self.size += len(data)
        return data

    def described(self, path: str) -> ArchivedFile:
        """The size and hash of the bytes that were read, as the file at a path of the archive."""
        return ArchivedFile(path, self.size, self._hash.hexdigest())


class _Bounded(gzip.GzipFile):
    """A compressed file that refuses to read more than `MOST_HEADER` bytes at once."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= MOST_HEADER:
            raise ValueError("a name in it is too long")
        return super().read(size)


class _Budget:
    """The remaining bytes that the files of an archive may have."""

    def __init__(self, granted: int) -> None:
        self._left = granted

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError(f"its files are more than {MOST_RATIO} times as large as the archive")
