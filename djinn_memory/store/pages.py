"""Reads records straight from the pages of an SQLite file, around whatever is damaged.

Only those of index b-trees, which hold tables without rowid too: https://sqlite.org/fileformat2.html
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

Value = str | None
"""A column that is text; None for one of another type, or of which a part is lost."""

SIZES = (4096, 512, 1024, 2048, 8192, 16384, 32768, 65536)
"""Sizes that a page can have, the usual one first."""

_MAGIC = b"SQLite format 3\0"
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEAD, _FRAME_HEAD = 32, 24
_INTERIOR, _LEAF = 2, 10
_COLUMNS = 16
"""More columns than a record of ours has: a head that says more is no head."""


class _File(Struct):
    """The pages of a database, in the main file and in what was committed beside it."""

    size: int
    pages: list[tuple[int, bytes]]
    """Every version of every page that is there."""
    newest: dict[int, bytes]


def records(path: Path) -> list[list[Value]]:
    """The text columns of every record that can be read, from all versions of all pages.

    What comes from a damaged page may be nonsense: the caller knows how its records look.
    """
    data = path.read_bytes()
    log = _bytes(Path(f"{path}-wal"))
    sizes = _stated(data, log)
    # Where no head says it, the right size is that which makes sense of the most.
    found = (list(_read(_file(data, log, size))) for size in sizes)
    return max(found, key=len)


def _stated(data: bytes, log: bytes) -> tuple[int, ...]:
    # 64, 32 and 32 stand in the head of every file of version 3.
    if data[:16] == _MAGIC and data[21:24] == b"\x40\x20\x20":
        size = int.from_bytes(data[16:18])
        size = 65536 if size == 1 else size
        if size in SIZES:
            return (size,)
    if len(log) >= _WAL_HEAD:
        magic, _, size = struct.unpack_from(">III", log)
        if magic in _WAL_MAGIC and size in SIZES:
            return (size,)
    return SIZES


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _file(data: bytes, log: bytes, size: int) -> _File:
    pages = [(at // size + 1, data[at : at + size]) for at in range(0, len(data) - size + 1, size)]
    pages += _committed(log, size)
    return _File(size, pages, dict(pages))


def _committed(log: bytes, size: int) -> list[tuple[int, bytes]]:
    """The pages of a write-ahead log up to its last commit.

    Checksums are not asked: a page that is damaged in part is of as much use here as elsewhere.
    """
    found = []
    for at in range(_WAL_HEAD, len(log) - size - _FRAME_HEAD + 1, size + _FRAME_HEAD):
        number, commit, *salts = struct.unpack_from(">IIII", log, at)
        found.append((number, commit, tuple(salts), log[at + _FRAME_HEAD :][:size]))
    counted = Counter(salts for _, _, salts, _ in found)
    stated = struct.unpack_from(">II", log, 16) if len(log) >= _WAL_HEAD else None
    # Frames of other salts are left over from before the log was begun anew. Where its head is
    # damaged the first salts that come twice are those of now.
    again = (salts for _, _, salts, _ in found if counted[salts] > 1)
    current = stated if stated in counted else next(again, found[0][2] if found else None)
    ours = [one for one in found if one[2] == current]
    last = max((place for place, one in enumerate(ours) if one[1]), default=-1)
    return [(number, page) for number, _, _, page in ours[: last + 1]]


def _read(file: _File) -> Iterator[list[Value]]:
    for number, page in file.pages:
        for start in _cells(page, 100 if number == 1 else 0):
            payload = _payload(file, page, start)
            if payload is not None:
                columns = _columns(*payload)
                if columns:
                    yield columns


def _cells(page: bytes, head: int) -> Iterator[int]:
    """Where the payloads of an index page's cells begin; none for any other page."""
    kind = page[head]
    if kind not in (_INTERIOR, _LEAF):
        return
    inner = kind == _INTERIOR
    count = int.from_bytes(page[head + 3 : head + 5])
    first = head + (12 if inner else 8)
    for at in range(first, min(first + 2 * count, len(page) - 1), 2):
        start = int.from_bytes(page[at : at + 2])
        if first <= start < len(page):
            yield start + (4 if inner else 0)


def _payload(file: _File, page: bytes, start: int) -> tuple[bytes, int] | None:
    """A cell's payload, as much of it as is there, and how long it should be."""
    total, at = _varint(page, start)
    usable = file.size
    most = (usable - 12) * 64 // 255 - 23
    if total <= most:
        return page[at : at + total], total
    if total > len(file.pages) * usable:
        return None
    least = (usable - 12) * 32 // 255 - 23
    local = least + (total - least) % (usable - 4)
    local = local if local <= most else least
    parts = [page[at : at + local]]
    following, left = int.from_bytes(page[at + local : at + local + 4]), total - local
    while left > 0 and following in file.newest:
        more = file.newest[following]
        parts.append(more[4 : 4 + min(left, usable - 4)])
        left -= usable - 4
        following = int.from_bytes(more[:4])
    return b"".join(parts), total


def _columns(payload: bytes, total: int) -> list[Value] | None:
    """A record's columns; None for what is no record."""
    length, at = _varint(payload, 0)
    if not at <= length <= len(payload):
        return None
    kinds: list[int] = []
    while at < length and len(kinds) <= _COLUMNS:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    sizes = [_size(kind) for kind in kinds]
    if at != length or length + sum(sizes) != total:
        return None
    columns: list[Value] = []
    for kind, size in zip(kinds, sizes, strict=True):
        columns.append(_text(payload[at : at + size], size) if kind >= 13 and kind % 2 else None)
        at += size
    return columns


def _size(kind: int) -> int:
    return (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]


def _text(data: bytes, size: int) -> Value:
    try:
        return data.decode() if len(data) == size else None
    except UnicodeDecodeError:
        return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where the next thing begins."""
    value = 0
    for count in range(9):
        if at >= len(data):
            return 0, at
        byte = data[at]
        at += 1
        if count == 8:
            return value << 8 | byte, at
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value, at
