"""Reads records directly from the pages of an SQLite file, skipping damaged parts.

It reads only index b-trees, which include tables without rowid. The format is described at
https://sqlite.org/fileformat2.html
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

Value = str | None
"""A text column; None for a column of another type or an incomplete one."""

SIZES = (4096, 512, 1024, 2048, 8192, 16384, 32768, 65536)
"""The possible page sizes, the usual one first."""

_MAGIC = b"SQLite format 3\0"
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEAD, _FRAME_HEAD = 32, 24
_INTERIOR, _LEAF = 2, 10
_COLUMNS = 16
"""More columns than djinn's records have. A header with more is invalid."""


class _File(Struct):
    """The pages of a database: those of the main file and the committed pages of its log."""

    size: int
    pages: list[tuple[int, bytes]]
    """The number and content of every version of every page."""
    newest: dict[int, bytes]


class _Frame(NamedTuple):
    """A page in a write-ahead log."""

    number: int
    commits: int
    salts: tuple[int, int]
    page: bytes


def records(path: Path) -> list[list[Value]]:
    """The text columns of every readable record, from all versions of all pages.

    A damaged page may return nonsense. The caller must recognise valid records.
    """
    data = path.read_bytes()
    wal = Path(f"{path}-wal")
    log = wal.read_bytes() if wal.is_file() else b""
    # When no header states the page size, the size that yields the most records is right.
    return max((list(_read(_file(data, log, size))) for size in _page_sizes(data, log)), key=len)


def _page_sizes(data: bytes, log: bytes) -> tuple[int, ...]:
    # The header of every file of version 3 contains 64, 32 and 32.
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


def _file(data: bytes, log: bytes, size: int) -> _File:
    pages = [(at // size + 1, data[at : at + size]) for at in range(0, len(data) - size + 1, size)]
    pages += _committed(log, size)
    return _File(size, pages, dict(pages))


def _committed(log: bytes, size: int) -> list[tuple[int, bytes]]:
    """The pages of a write-ahead log up to its last commit.

    Checksums are ignored, because a partly damaged page is useful too.
    """
    frames: list[_Frame] = []
    for at in range(_WAL_HEAD, len(log) - size - _FRAME_HEAD + 1, size + _FRAME_HEAD):
        number, commits, *salts = struct.unpack_from(">IIII", log, at)
        page = log[at + _FRAME_HEAD :][:size]
        frames.append(_Frame(number, commits, (salts[0], salts[1]), page))
    counts = Counter(frame.salts for frame in frames)
    header = struct.unpack_from(">II", log, 16) if len(log) >= _WAL_HEAD else None
    # Frames with other salts are older than the last restart of the log. When its header is
    # damaged, the first salts that occur twice are the current ones.
    repeated = (frame.salts for frame in frames if counts[frame.salts] > 1)
    current = header if header in counts else next(repeated, frames[0].salts if frames else None)
    frames = [frame for frame in frames if frame.salts == current]
    last = max((at for at, frame in enumerate(frames) if frame.commits), default=-1)
    return [(frame.number, frame.page) for frame in frames[: last + 1]]


def _read(file: _File) -> Iterator[list[Value]]:
    for number, page in file.pages:
        for start in _cells(page, 100 if number == 1 else 0):
            payload = _payload(file, page, start)
            if payload is not None:
                columns = _columns(*payload)
                if columns:
                    yield columns


def _cells(page: bytes, head: int) -> Iterator[int]:
    """The payload offsets of an index page's cells; none for other pages."""
    kind = page[head]
    if kind not in (_INTERIOR, _LEAF):
        return
    # An interior page has a page number in its header and at the start of each cell.
    pointer = 4 if kind == _INTERIOR else 0
    count = int.from_bytes(page[head + 3 : head + 5])
    first = head + 8 + pointer
    for at in range(first, min(first + 2 * count, len(page) - 1), 2):
        start = int.from_bytes(page[at : at + 2])
        if first <= start < len(page):
            yield start + pointer


def _payload(file: _File, page: bytes, start: int) -> tuple[bytes, int] | None:
    """The readable part of a cell's payload, and its full length."""
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
    """The columns of a record; None when the bytes are not a record."""
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
    """The number at `at`, and the offset after it."""
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
