"""Recovers what can be read of a damaged ledger, says what was lost, and puts it in its place."""

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
from djinn_memory.store.ledger import SCHEMA, held
from djinn_memory.store.ledger.projections import rebuild
from djinn_memory.store.pages import records
from djinn_memory.store.sqlite import connect, rows, transaction
from djinn_memory.store.state import aside_name
from djinn_memory.system.files import file_id, sync_folder
from djinn_memory.system.plural import count

Row = tuple[str, str, str, str, str]
"""An event as the ledger's table holds it: id, at, kind, subject, data."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f]")


class SalvagedLedger(Struct):
    """What a damaged ledger still tells."""

    events: dict[str, Row]
    """By id."""
    lost: dict[str, str]
    """Events of which only a trace is left: the kind by the id, "" where not even that is."""

    def __str__(self) -> str:
        """One clause: how many events can be had, how many not, when those were and of what."""
        if not (self.events or self.lost):
            return "not one event"
        kept, all_of_them = len(self.events), len(self.events) + len(self.lost)
        text = f"{kept:,} of {count(all_of_them, 'event')}"
        if not self.lost:
            return text
        times = [_time(one) for one in (min(self.lost), max(self.lost))]
        counted = Counter(kind or "of an unknown kind" for kind in self.lost.values())
        kinds = ", ".join(f"{kind} x {number:,}" for kind, number in counted.most_common(8))
        return f"{text}; lost {len(self.lost):,} between {times[0]} and {times[1]}: {kinds}"


def read(path: Path) -> SalvagedLedger:
    """What can be read of a ledger, from its pages: neither its head nor its roots are needed.

    Its events are only ever added, so that what stands in an older version of a page is true too.
    An event of which a part is unreadable counts as lost.
    """
    found: dict[str, list[Row]] = {}
    traces: dict[str, str] = {}
    told: dict[str, tuple[str, str]] = {}
    for columns in records(path):
        if len(columns) == 5:
            row = _event(columns)
            if row:
                found.setdefault(row[0], []).append(row)
            elif columns[0] and _ID.fullmatch(columns[0]):
                traces.setdefault(columns[0], _word(columns[2]))
        elif len(columns) == 3:
            # The index `event_kind` lies on pages of its own.
            kind, subject, key = columns
            if _word(kind) and subject is not None and key and _ID.fullmatch(key):
                told[key] = (_word(kind), subject)
    events = {}
    for key in sorted(found):
        # Two versions can differ only by damage: the index knows which is right.
        right = (row for row in found[key] if told.get(key) == (row[2], row[3]))
        events[key] = next(right, found[key][-1])
    kinds = traces | {key: kind for key, (kind, _) in told.items()}
    return SalvagedLedger(events, {key: kinds[key] for key in sorted(kinds.keys() - events.keys())})


def unfinished(path: Path) -> Path | None:
    """What a recovery that was killed has made of the ledger at `path` and not yet put there."""
    made = path.with_name(f"{path.name}.recovered")
    return made if made.is_file() else None


def recover(path: Path) -> tuple[SalvagedLedger, Path | None]:
    """Put a ledger of all that can be read in the place of a damaged one, which is kept.

    Returns what was found, and where the damaged one lies now. A kill at any time leaves either
    the one or the other, and the next call goes on.
    """
    if path.is_symlink():
        raise Refused(f"{path} is a link and may lead anywhere; put the file itself there")
    with held(path):
        sources = [one for one in (path, unfinished(path)) if one and one.is_file()]
        found = _joined([read(one) for one in sources])
        made = _write(path, found)
        aside = _keep(path)
        # From here on `made` alone has all; it is found again, see `sources`.
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        made.replace(path)
        sync_folder(path.parent)
    return found, aside


def _event(columns: list[str | None]) -> Row | None:
    key, at, kind, subject, data = columns
    if key is None or at is None or subject is None or data is None or not _word(kind):
        return None
    try:
        whole = isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return None
    # No path has a NUL; a page that was overwritten has many.
    whole = whole and data.isascii() and "\0" not in subject
    dated = _ID.fullmatch(key) and _AT.fullmatch(at)
    return (key, at, _word(kind), subject, data) if whole and dated else None


def _word(kind: str | None) -> str:
    return kind if kind and len(kind) <= 100 and not _NO_TEXT.search(kind) else ""


def _joined(found: list[SalvagedLedger]) -> SalvagedLedger:
    events: dict[str, Row] = {}
    lost: dict[str, str] = {}
    for one in found:
        events = one.events | events
        lost |= one.lost
    ordered = {key: events[key] for key in sorted(events)}
    return SalvagedLedger(ordered, {key: kind for key, kind in lost.items() if key not in events})


def _write(path: Path, found: SalvagedLedger) -> Path:
    """Write the events beside the ledger; the file has its name only when it is whole."""
    scratch = path.with_name(f"{path.name}.recovering")
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{scratch}{end}").unlink(missing_ok=True)
    connection = connect(scratch, SCHEMA)
    try:
        with transaction(connection):
            connection.executemany(
                "insert into event values (?, ?, ?, ?, ?)", found.events.values()
            )
            # With the usual settings: who opens it with others makes the scores anew.
            rebuild(connection, ScoringConfig())
        written = rows(connection, "select id, at, kind, subject, data from event order by id")
        checked = connection.execute("pragma integrity_check(1)").get
    finally:
        connection.close()
    if checked != "ok" or written != list(found.events.values()):
        raise Unavailable(f"{scratch} cannot be written as it should; check the disk")
    made = path.with_name(f"{path.name}.recovered")
    with scratch.open("rb") as file:
        os.fsync(file.fileno())
    scratch.replace(made)
    sync_folder(path.parent)
    return made


def _keep(path: Path) -> Path | None:
    """Give the damaged ledger, and the log beside it, a second name that it keeps."""
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
