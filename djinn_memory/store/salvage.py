"""Replaces a damaged ledger with its readable events, and reports which events were lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger import SCHEMA, ledger_lock
from djinn_memory.store.ledger.projections import rebuild
from djinn_memory.store.sqlite import connect, rows, transaction
from djinn_memory.store.state import aside_name
from djinn_memory.system.files import file_id, sync_folder
from djinn_memory.system.plural import count

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


def _records(path: Path) -> list[list[Value]]:
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
    for place in range(9):
        if at >= len(data):
            return 0, at
        byte = data[at]
        at += 1
        if place == 8:
            return value << 8 | byte, at
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value, at


Row = tuple[str, str, str, str, str]
"""A row of the ledger's table of events: id, at, kind, subject, data."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f]")


class SalvagedLedger(Struct):
    """The readable part of a damaged ledger."""

    events: dict[str, Row]
    """The events by id."""
    lost: dict[str, str]
    """The kind of each lost event by its id; "" when the kind is lost too."""

    def __str__(self) -> str:
        """The number of readable events, and the number, times and kinds of lost events."""
        if not (self.events or self.lost):
            return "not one event"
        total = len(self.events) + len(self.lost)
        text = f"{len(self.events):,} of {count(total, 'event')}"
        if not self.lost:
            return text
        first, last = _time(min(self.lost)), _time(max(self.lost))
        counts = Counter(kind or "of an unknown kind" for kind in self.lost.values())
        kinds = ", ".join(f"{kind} x {number:,}" for kind, number in counts.most_common(8))
        return f"{text}; lost {len(self.lost):,} between {first} and {last}: {kinds}"


def read(path: Path) -> SalvagedLedger:
    """The readable events of a ledger, from its pages. Neither header nor root pages are needed.

    Events never change, so an older version of a page is correct too. An event with an unreadable
    part counts as lost.
    """
    versions: dict[str, list[Row]] = {}
    traces: dict[str, str] = {}
    indexed: dict[str, tuple[str, str]] = {}
    for columns in _records(path):
        if len(columns) == 5:
            row = _event(columns)
            if row:
                versions.setdefault(row[0], []).append(row)
            elif columns[0] and _ID.fullmatch(columns[0]):
                traces.setdefault(columns[0], _word(columns[2]))
        elif len(columns) == 3:
            # A record of the index `event_kind`, which has pages of its own.
            kind, subject, key = columns
            if _word(kind) and subject is not None and key and _ID.fullmatch(key):
                indexed[key] = (_word(kind), subject)
    events = {}
    for key in sorted(versions):
        # Versions differ only by damage; the index knows which version is right.
        right = (row for row in versions[key] if indexed.get(key) == (row[2], row[3]))
        events[key] = next(right, versions[key][-1])
    kinds = traces | {key: kind for key, (kind, _) in indexed.items()}
    return SalvagedLedger(events, {key: kinds[key] for key in sorted(kinds.keys() - events.keys())})


def unfinished(path: Path) -> Path | None:
    """A ledger that a killed recovery wrote for `path` but did not move into place."""
    recovered = path.with_name(f"{path.name}.recovered")
    return recovered if recovered.is_file() else None


def recover(path: Path) -> tuple[SalvagedLedger, Path | None]:
    """Replace a damaged ledger with a new one that has its readable events.

    Returns the events and the new path of the damaged file, which is kept. A kill at any time
    leaves one of the two ledgers in place, and the next call continues.
    """
    if path.is_symlink():
        raise Refused(
            f"{path} is a symbolic link, which djinn does not follow; replace the link with "
            "the file"
        )
    with ledger_lock(path):
        sources = [source for source in (path, unfinished(path)) if source and source.is_file()]
        salvaged = _merge([read(source) for source in sources])
        recovered = _write(path, salvaged)
        aside = _keep(path)
        # From here on only `recovered` has every event. A next call finds it, see `unfinished`.
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        recovered.replace(path)
        sync_folder(path.parent)
    return salvaged, aside


def _event(columns: list[str | None]) -> Row | None:
    key, at, kind, subject, data = columns
    if key is None or at is None or subject is None or data is None or not _word(kind):
        return None
    try:
        whole = isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return None
    # No path contains a NUL; an overwritten page contains many.
    whole = whole and data.isascii() and "\0" not in subject
    valid = _ID.fullmatch(key) and _AT.fullmatch(at)
    return (key, at, _word(kind), subject, data) if whole and valid else None


def _word(kind: str | None) -> str:
    return kind if kind and len(kind) <= 100 and not _NO_TEXT.search(kind) else ""


def _merge(ledgers: list[SalvagedLedger]) -> SalvagedLedger:
    events: dict[str, Row] = {}
    lost: dict[str, str] = {}
    for ledger in ledgers:
        events = ledger.events | events
        lost |= ledger.lost
    ordered = {key: events[key] for key in sorted(events)}
    return SalvagedLedger(ordered, {key: kind for key, kind in lost.items() if key not in events})


def _write(path: Path, salvaged: SalvagedLedger) -> Path:
    """Write the events beside the ledger. The file gets its final name when it is complete."""
    scratch = path.with_name(f"{path.name}.recovering")
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{scratch}{end}").unlink(missing_ok=True)
    connection = connect(scratch, SCHEMA)
    try:
        with transaction(connection):
            connection.executemany(
                "insert into event values (?, ?, ?, ?, ?)", salvaged.events.values()
            )
            # With the default settings; a home with other settings computes its scores anew.
            rebuild(connection, ScoringConfig())
        written = rows(connection, "select id, at, kind, subject, data from event order by id")
        integrity = connection.execute("pragma integrity_check(1)").get
    finally:
        connection.close()
    if integrity != "ok" or written != list(salvaged.events.values()):
        raise Unavailable(f"{scratch} was not written correctly; check the disk")
    recovered = path.with_name(f"{path.name}.recovered")
    with scratch.open("rb") as file:
        os.fsync(file.fileno())
    scratch.replace(recovered)
    sync_folder(path.parent)
    return recovered


def _keep(path: Path) -> Path | None:
    """Give the damaged ledger and its log a second, permanent name."""
    if not path.exists():
        return None
    for earlier in path.parent.glob(f"{path.name}.corrupt-*"):
        if file_id(earlier) == file_id(path):
            return earlier
    aside = aside_name(path)
    if Path(f"{path}-wal").exists():
        _link(Path(f"{path}-wal"), Path(f"{aside}-wal"))
    _link(path, aside)
    sync_folder(path.parent)
    return aside


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        # Not every file system has links.
        scratch = target.with_name(f"{target.name}.part")
        shutil.copy2(source, scratch)
        scratch.replace(target)


def _time(identity: str) -> str:
    milliseconds = int(identity[:8] + identity[9:13], 16)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"
