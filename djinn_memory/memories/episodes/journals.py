"""Appends records to the journals of a vault. Each append is atomic and durable."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from socket import gethostname

from djinn_memory.errors import Changed, Refused
from djinn_memory.home.access import is_private
from djinn_memory.home.home import Home
from djinn_memory.memories.writing.change_set import VaultWriter
from djinn_memory.models import Vault
from djinn_memory.notes import journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.slugs import unique
from djinn_memory.system import files
from djinn_memory.system.interrupts import deferred

FULL = 1_000_000
"""Maximum bytes of a journal, which limits the cost of an append. The day then continues in another
file."""

SLACK = 10_000
"""Bytes of an incomplete record at the end of a journal. They do not count as its content."""

ATTEMPTS = 5
"""Maximum number of attempts, each after an editor has saved the journal in the meantime."""

NAME_FILE = "journal-name"
"""The file in the state folder that contains the home's name for its journal files."""


_BLOCK = re.compile(rb"(?<=\n\^)[A-Za-z0-9-]+(?=\n)")


def home_name(home: Home) -> str:
    """The name of a home in the names of its journals.

    It ends in random characters, so that two homes that share a vault never write to the same file,
    even on machines with the same name.
    """
    place = home.state / NAME_FILE
    if name := _written_name(place):
        return name
    host = re.sub(r"[^a-z0-9]+", "-", gethostname().lower().partition(".")[0]).strip("-")[:24]
    name = f"{host or 'home'}-{crockford(20)}"
    files.make_folder(home.state, private=True)
    try:
        files.create(place, f"{name}\n".encode(), private=True)
    except FileExistsError:
        # Either another process has just written the name, or the file has no valid one.
        if other := _written_name(place):
            return other
        files.write_atomic(place, f"{name}\n".encode(), private=True)
    return name


def home_name_if_any(home: Home) -> str | None:
    """The name of a home in the names of its journals; None before its first journal."""
    return _written_name(home.state / NAME_FILE)


def _written_name(place: Path) -> str | None:
    try:
        name = files.read_regular(place).decode("utf-8", "replace").strip()
    except OSError:
        return None
    return name if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) else None


def append(
    writer: VaultWriter, home: Home, days: Mapping[str, Mapping[str, str]], *, once: bool = False
) -> dict[str, str]:
    """Append records to the journals of days: texts of `journal.compose` by block, by day.

    Returns the path of each new record by its block. With `once`, a record is skipped if a journal
    of its day has its block. Afterwards all of them survive a power cut.
    """
    name = home_name(home)
    there = _journals(writer.vault, days) if once else {}
    places: dict[str, str] = {}
    created: list[Path] = []
    try:
        for day, records in days.items():
            waiting, number = dict(records), 1
            for path in there.get(day, ()):
                for block in _BLOCK.findall(disk.read(writer.vault, path)):
                    waiting.pop(block.decode(), None)
            while waiting:
                path = journal.path_of(day, name, number)
                head = journal.header(day, name).encode()
                for block in _append(writer, path, head, waiting, created):
                    del waiting[block]
                    places[block] = path
                    writer.written[path] = None
                number += 1
    finally:
        files.sync_files(created)
    return places


def _journals(vault: Vault, days: Container[str]) -> Mapping[str, list[str]]:
    """The paths of the journals of days, of all homes, by day."""
    folder = files.inside(vault.root, "journal")
    paths: dict[str, list[str]] = {}
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            day, _, rest = entry.name.partition(".")
            if day in days and rest.endswith(".md") and entry.is_file():
                paths.setdefault(day, []).append(f"journal/{entry.name}")
    return paths


def _append(
    writer: VaultWriter, path: str, header: bytes, records: Mapping[str, str], created: list[Path]
) -> Sequence[str]:
    """Append to one file the records that it has room for. Returns the blocks of these records.

    A new file is added to `created`: it survives a power cut only after `sync_files`.
    """
    vault = writer.vault
    file, private = files.inside(vault.root, path), is_private(vault)
    if file != vault.root.resolve() / path:
        raise Refused(
            f"{vault.name}/{path} leads through a symbolic link; replace the link with a folder"
        )
    # A full journal is not read again: a day may have many of them.
    with suppress(OSError):
        size, first = file.stat().st_size, len(next(iter(records.values())).encode("utf-8"))
        if size > len(header) and size + first > FULL + SLACK:
            return ()
    for _ in range(ATTEMPTS):
        try:
            data = disk.read(vault, path)
        except FileNotFoundError:
            files.make_folder(file.parent, private=private)
            blocks, text = _fitting(records, len(header), len(header))
            with deferred(), suppress(FileExistsError):
                files.create(file, header + text, private=private, sync=False)
                created.append(file)
                return blocks
            continue
        keep = journal.appendable(path, data)
        if keep is None:
            return ()
        begins = b"" if keep else header
        if keep and not data[:keep].endswith(b"\n"):
            begins = b"\n"
        blocks, text = _fitting(records, keep, len(header))
        # Ctrl-C waits until the records are whole.
        with deferred():
            if not blocks or _write_end(vault, path, data, keep, begins + text):
                return blocks
    raise Changed(file)


def _fitting(records: Mapping[str, str], size: int, header: int) -> tuple[list[str], bytes]:
    """The first records that fit into a journal of this size, and their bytes.

    The first record fits into a journal that has only its header, however long it is.
    """
    blocks: list[str] = []
    text = bytearray()
    for block, record in records.items():
        data = record.encode("utf-8")
        if size + len(text) + len(data) > FULL and size + len(text) > header:
            break
        blocks.append(block)
        text += data
    return blocks, bytes(text)


def _write_end(vault: Vault, path: str, data: bytes, keep: int, record: bytes) -> bool:
    """Write a record behind the first `keep` bytes of a file, durably; undone when that fails.

    False when the file does not hold `data` any more: an editor has saved it meanwhile. The cut
    part is kept in the trash, since a person may have begun to write there.
    """
    flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(files.inside(vault.root, path), flags)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        if file.read() != data or not os.path.samestat(
            os.fstat(descriptor), (vault.root / path).stat()
        ):
            return False
        if data[keep:].strip(b"\0\n "):
            _keep_torn(vault, path, data[keep:])
        try:
            file.seek(keep)
            file.truncate(keep)
            left = memoryview(record)
            while left:
                left = left[file.write(left) :]
            os.fsync(descriptor)
        except OSError:
            file.truncate(keep)
            raise
    return True


def _keep_torn(vault: Vault, path: str, data: bytes) -> None:
    """Keep the end of a journal, which the next record replaces, as a file in the trash."""
    folder = files.inside(vault.root, str(PurePosixPath(disk.TRASH, path).parent))
    files.make_folder(folder, private=is_private(vault))
    stem = f"{PurePosixPath(path).stem}-torn"
    name = unique(stem, lambda name: os.path.lexists(folder / f"{name}.md"))
    files.create(folder / f"{name}.md", data, private=is_private(vault))
