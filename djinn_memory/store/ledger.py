"""The ledger: what happened, in the order it happened. It cannot be made again from the notes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.files import lock, place
from djinn_memory.store.sqlite import Broken, Schema, connect, rows, transaction

SCHEMA = Schema(
    Path(__file__).parent / "ledger_schema",
    application=0x646A6E4C,
    marked=2,
    tables=frozenset({"event"}),
    durable=True,
)

_TAIL = 62
"""Random bits of a UUID, behind what sorts it."""


class Event(Struct, frozen=True):
    """One thing that happened."""

    kind: str
    """What, as `noun.verb`."""
    subject: str
    """To what."""
    data: dict[str, Any]
    at: str = ""
    """When, as ISO 8601 in UTC."""


class Ledger:
    """Events, appended and never changed. On a disk that cannot be written it can be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.is_symlink():
            raise Refused(f"{path} is a link and may lead anywhere; put the file itself there")
        with self._explained(), _held(path):
            self._connect()

    def append(self, events: Iterable[Event]) -> None:
        """Write events in order, all or none; a power cut does not undo it."""
        with self._explained(), _held(self._path):
            self._follow()
            with transaction(self._connection):
                # A clock that was set back must not put what happens now before what was then.
                last: str = self._connection.execute("select max(id) from event").get or ""
                values = []
                for one in events:
                    last = uuid7(after=last)
                    values.append((last, _now(), one.kind, one.subject, json.dumps(one.data)))
                self._connection.executemany(
                    "insert into event (id, at, kind, subject, data) values (?, ?, ?, ?, ?)", values
                )

    def latest(self, noun: str) -> list[Event]:
        """The last event of each subject whose kind begins with `noun`, the oldest first."""
        with self._explained():
            if place(self._path) != self._place:
                with _held(self._path):
                    self._follow()
            found = rows(
                self._connection,
                "select kind, subject, data, at, max(id) as last from event "
                "where kind >= ? || '.' and kind < ? || '/' group by subject order by last",
                (noun, noun),
            )
        return [Event(kind, subject, _object(data), at) for kind, subject, data, at, _ in found]

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _follow(self) -> None:
        """Open the ledger that lies there now, if this one was recovered; see `salvage`."""
        if place(self._path) != self._place:
            self._connection.close()
            self._connect()

    def _connect(self) -> None:
        path = self._path
        before = place(path)
        self._connection = connect(path, SCHEMA, write=_writable(path))
        self._place = before or place(path)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (Broken, apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
            # Not `Broken`: what no note tells is not set aside like what can be made anew.
            raise Unavailable(
                f"{self._path} is damaged, and holds what no note tells; run `djinn doctor --fix`"
            ) from None
        except apsw.BusyError:
            raise Unavailable(f"another djinn process is writing {self._path}; try again") from None
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError):
            raise Unavailable(
                f"{self._path} cannot be used; check the disk and the file's permissions"
            ) from None


def held(path: Path) -> AbstractContextManager[None]:
    """Keep others from opening and from writing the ledger at `path`."""
    return lock(path.with_suffix(".lock"), timeout=30)


def _held(path: Path) -> AbstractContextManager[None]:
    return held(path) if _writable(path) else nullcontext()


def _writable(path: Path) -> bool:
    # In the WAL mode who writes makes files beside it.
    return all(os.access(one, os.W_OK) for one in (path, path.parent) if one.exists())


def uuid7(*, after: str = "") -> str:
    """A UUID of version 7 (RFC 9562): those made later sort later, and it behind `after`."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    # The fraction of the millisecond in the 12 bits behind it keeps the order within it.
    ticks = milliseconds << 12 | (nanoseconds << 12) // 1_000_000
    if after:
        ticks = max(ticks, _ticks(after) + 1)
    tail = int.from_bytes(os.urandom(8)) & (1 << _TAIL) - 1
    value = ticks >> 12 << 80 | 7 << 76 | (ticks & 0xFFF) << 64 | 2 << _TAIL | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _ticks(identity: str) -> int:
    """When a UUID was made, in 4096ths of a millisecond."""
    value = int(identity.replace("-", ""), 16)
    # One of a later version, which is not ours, sorts behind all of ours of its millisecond.
    fraction = value >> 64 & 0xFFF if value >> 76 & 0xF <= 7 else 0xFFF
    return value >> 80 << 12 | fraction


def _object(text: str) -> dict[str, Any]:
    """An event's data; nothing where somebody else's file says what is no object."""
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
