"""Appends records to the journals of a vault. Each append is atomic and durable."""

from __future__ import annotations

import os
import re
from pathlib import Path
from socket import gethostname

from djinn_memory.errors import Refused
from djinn_memory.home.access import is_private
from djinn_memory.home.home import Home
from djinn_memory.memories.writing.vault_writer import VaultWriter
from djinn_memory.notes import journal
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.system.files import create, inside, make_folder
from djinn_memory.system.interrupts import deferred

FULL = 1_000_000
"""Maximum bytes of a journal, which limits the cost of an append. The day then continues in another
file."""

NAME_FILE = "journal-name"
"""The file in the state folder that contains the home's name for its journal files."""


def home_name(home: Home) -> str:
    """The home's name for its journal files.

    It ends in random characters, so that two homes that share a vault never write the same file,
    even on machines with the same name.
    """
    place = home.state / NAME_FILE
    try:
        name = place.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        name = ""
    if re.fullmatch(r"[\w-]{1,64}", name):
        return name
    host = re.sub(r"[^a-z0-9]+", "-", gethostname().lower().partition(".")[0]).strip("-")[:24]
    name = f"{host or 'home'}-{crockford(20)}"
    make_folder(home.state, private=True)
    try:
        create(place, f"{name}\n".encode(), private=True)
    except FileExistsError:
        # Another process gave the name just now.
        return place.read_text(encoding="utf-8").strip()
    return name


def append(writer: VaultWriter, home: Home, day: str, record: str) -> str:
    """Append a record from `journal.compose` to the journal of a day. Returns the path."""
    data = record.encode("utf-8")
    name, number = home_name(home), 1
    while True:
        path = journal.path_of(day, name, number)
        if _append(writer, path, journal.header(day, name).encode(), data):
            writer.written[path] = None
            return path
        number += 1


def _append(writer: VaultWriter, path: str, header: bytes, record: bytes) -> bool:
    """Append to one file. Returns False when it is full or cannot be appended to."""
    if len(header) + len(record) > MAX_BYTES:
        raise Refused(f"{len(record):,} bytes are too many for one episode; record less of it")
    vault = writer.vault
    file = inside(vault.root, path)
    private = is_private(vault)
    try:
        data = disk.read(vault, path)
    except FileNotFoundError:
        make_folder(file.parent, private=private)
        with deferred():
            create(file, header + record, private=private)
        return True
    keep = journal.appendable(path, data)
    if keep is None or (keep + len(record) > FULL and keep > len(header)):
        return False
    begins = b"" if keep else header
    if keep and not data[:keep].endswith(b"\n"):
        begins = b"\n"
    # Ctrl-C waits until the record is whole.
    with deferred():
        _write_end(file, keep, begins + record)
    return True


def _write_end(file: Path, keep: int, data: bytes) -> None:
    """Replace everything after `keep` bytes, durably. This is undone when the disk is full."""
    descriptor = os.open(file, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.ftruncate(descriptor, keep)
        os.lseek(descriptor, keep, os.SEEK_SET)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, keep)
            raise
    finally:
        os.close(descriptor)
