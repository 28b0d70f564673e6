"""The ledger: what happened, in the order it happened. It cannot be made again from the notes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import apsw

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.scoring import ScoringConfig
from djinn_memory.store.erasing import erase
from djinn_memory.store.ledger import projections
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.events import Event, now, uuid7
from djinn_memory.store.ledger.projections import parsed
from djinn_memory.store.ledger.redaction import phrases, redacted
from djinn_memory.store.sqlite import DamagedDatabase, Row, Schema, connect, rows, transaction
from djinn_memory.system.files import file_id
from djinn_memory.system.locks import lock

SCHEMA = Schema(
    Path(__file__).parent / "schema",
    application=0x646A6E4C,
    marked=2,
    tables=frozenset({"event"}),
    durable=True,
)


class Ledger:
    """Events, appended and never changed, and the tables that follow from them.

    On a disk that cannot be written it can be read. `scoring` says how `memory_scores` is made.
    """

    def __init__(self, path: Path, scoring: ScoringConfig | None = None) -> None:
        self._path = path
        self._scoring = scoring or ScoringConfig()
        if path.is_symlink():
            raise Refused(f"{path} is a link and may lead anywhere; put the file itself there")
        with self._explained(), _held(path):
            self._connect()

    def append(self, events: Iterable[Event], *, durable: bool = True) -> None:
        """Write events in order, all or none; a power cut does not undo it.

        It may undo the last ones that need not be `durable`, for which the disk is not waited for;
        what is appended after them never outlives them.
        """
        with self._explained(), _held(self._path):
            self._follow()
            with (
                nullcontext() if durable else _unhurried(self._connection),
                transaction(self._connection),
            ):
                projections.renew(self._connection, self._scoring)
                # A clock that was set back must not put what happens now before what was then.
                last: str = self._connection.execute("select max(id) from event").get or ""
                values, happened = [], []
                for one in events:
                    last, at = uuid7(after=last), now()
                    values.append((last, at, one.kind, one.subject, json.dumps(one.data)))
                    happened.append(StoredEvent(last, at, one))
                self._connection.executemany(
                    "insert into event (id, at, kind, subject, data) values (?, ?, ?, ?, ?)", values
                )
                projections.project(self._connection, happened, self._scoring)

    def rebuild(self) -> None:
        """Make the tables anew from the events, which leaves them as they were."""
        with self._explained(), _held(self._path):
            self._follow()
            with transaction(self._connection):
                projections.rebuild(self._connection, self._scoring)

    def redact(self, texts: Iterable[str]) -> int:
        """Blank what events say that holds one of `texts` or a line of one; returns how many did.

        The events stay, so the tables follow from them as before. `Unavailable` where another
        process reads the file for long; run it again then.
        """
        wanted = phrases(texts)
        with self._explained(), _held(self._path):
            self._follow()
            changed = []
            with transaction(self._connection):
                for key, text in rows(self._connection, "select id, data from event"):
                    data = parsed(text)
                    blank = redacted(data, wanted)
                    if blank != data:
                        changed.append((json.dumps(blank), key))
                if changed:
                    self._connection.executemany("update event set data = ? where id = ?", changed)
                    projections.rebuild(self._connection, self._scoring)
            erase(self._connection)
        return len(changed)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows of a query; the functions of `reading` ask."""
        with self._explained():
            if file_id(self._path) != self._place:
                with _held(self._path):
                    self._follow()
            return rows(self._connection, sql, values)

    def latest(self, noun: str) -> list[Event]:
        """The last event of each subject whose kind begins with `noun`, the oldest first."""
        found = self.rows(
            "select kind, subject, data, at, max(id) as last from event "
            "where kind >= ?1 || '.' and kind < ?1 || '/' group by subject order by last",
            (noun,),
        )
        return [Event(kind, subject, parsed(data), at) for kind, subject, data, at, _ in found]

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _follow(self) -> None:
        """Open the ledger that lies there now, if this one was recovered; see `salvage`."""
        if file_id(self._path) != self._place:
            self._connection.close()
            self._connect()

    def _connect(self) -> None:
        path = self._path
        before = file_id(path)
        write = _writable(path)
        self._connection = connect(path, SCHEMA, write=write)
        if write and not projections.current(self._connection, self._scoring):
            with transaction(self._connection):
                projections.renew(self._connection, self._scoring)
        self._place = before or file_id(path)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DamagedDatabase, apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
            # Not `DamagedDatabase`: what no note tells is not set aside like what can be made anew.
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


@contextmanager
def _unhurried(connection: apsw.Connection) -> Iterator[None]:
    """Commits that the disk has when it has the next one that is waited for."""
    connection.pragma("synchronous", "normal")
    try:
        yield
    finally:
        connection.pragma("synchronous", "full")
