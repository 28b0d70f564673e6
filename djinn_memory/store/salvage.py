"""Replaces a damaged ledger with its readable events, and reports which events were lost."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.ledger import SCHEMA, ledger_lock
from djinn_memory.store.ledger.projections import rebuild
from djinn_memory.store.pages import records
from djinn_memory.store.sqlite import connect, rows, transaction
from djinn_memory.store.state import aside_name
from djinn_memory.system.files import file_id, sync_folder
from djinn_memory.system.plural import count

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
    for columns in records(path):
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
    for kept in path.parent.glob(f"{path.name}.corrupt-*"):
        if file_id(kept) == file_id(path):
            return kept
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
