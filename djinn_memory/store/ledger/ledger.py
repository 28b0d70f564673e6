"""The ledger of events in chronological order. It cannot be rebuilt from the notes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import apsw

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.scoring import ScoringConfig
from djinn_memory.store import sqlite
from djinn_memory.store.busy import Patience, in_use, time_left
from djinn_memory.store.ledger import foreign, projections
from djinn_memory.store.ledger.events import TOOL_CALLED, Event, StoredEvent, now, uuid7
from djinn_memory.store.ledger.projections import parse_data
from djinn_memory.store.ledger.redaction import phrases, redacted
from djinn_memory.system.files import file_id
from djinn_memory.system.locks import lock

SCHEMA = sqlite.Schema(
    Path(__file__).parent / "schema",
    application=0x646A6E4C,
    marked=2,
    tables=frozenset({"event"}),
    durable=True,
)

Statement = tuple[str, Sequence[Sequence[object]]]
"""A statement, and the values of each time that it is run."""

HELD_SECONDS = 2.0
"""Maximum wait in seconds for a process that holds the ledger. An answer can do without the ledger,
and a caller should learn soon that an event cannot be written."""


_READ_ONLY = "a read-only process writes nothing"


class Ledger:
    """Events, which are appended and never changed, and the tables derived from them.

    A ledger on a read-only disk can be read. `scoring` determines the table `memory_scores`. Raises
    `Busy` when another process holds the file or its lock for longer than `HELD_SECONDS`.
    `patience` is kept across attempts to open the ledger.
    """

    def __init__(
        self, path: Path, scoring: ScoringConfig | None = None, patience: Patience | None = None
    ) -> None:
        self._path = path
        self._scoring = scoring or ScoringConfig()
        self._patience = patience or Patience()
        if path.is_symlink():
            raise Refused(
                f"{path} is a symbolic link, which djinn does not follow; replace the link "
                "with the file"
            )
        with self._locked():
            self._connect()

    def append(self, events: Iterable[Event], *, durable: bool = True) -> None:
        """Write events in order, all or none.

        A power cut does not undo `durable` events. It may undo the last of the other events,
        because they are not flushed to the disk. Later events never survive without earlier ones.
        """
        with (
            self._writing(),
            nullcontext() if durable else _without_sync(self._connection),
            sqlite.transaction(self._connection),
        ):
            projections.renew(self._connection, self._scoring)
            # A clock that was set back must not sort a new event before an old one.
            last: str = self._connection.execute("select max(id) from event").get or ""
            values, stored = [], []
            for event in events:
                last, at = uuid7(after=last), now()
                values.append((last, at, event.kind, event.subject, json.dumps(event.data)))
                stored.append(StoredEvent(last, at, event))
            self._connection.executemany(
                "insert into event (id, at, kind, subject, data) values (?, ?, ?, ?, ?)", values
            )
            projections.project(self._connection, stored, self._scoring)

    def change(self, statements: Iterable[Statement]) -> None:
        """Change tables that do not follow from the events, durably, all or nothing.

        For use by `sync_state`.
        """
        with self._writing(), sqlite.transaction(self._connection):
            for sql, values in statements:
                self._connection.executemany(sql, values)

    def take_in(self, events: Sequence[StoredEvent]) -> int:
        """Write events of other homes that are not here yet, as if they had been recorded here.

        A text that was purged here or there stays purged. Returns the number of new events.
        """
        with self._writing(), sqlite.transaction(self._connection):
            projections.renew(self._connection, self._scoring)
            return foreign.take_in(self._connection, events, self._scoring)

    def rebuild(self) -> None:
        """Rebuild the tables from the events. The result is the same."""
        with self._writing(), sqlite.transaction(self._connection):
            projections.rebuild(self._connection, self._scoring)

    def redact(
        self, texts: Iterable[str], agent: str, may_quote: Callable[[Mapping[str, object]], bool]
    ) -> int:
        """Blank the data of events that contains one of `texts` or a line of one.

        `may_quote` decides from an event's data whether it may quote one of the texts. Returns the
        number of changed events of `agent`. The events stay, so the derived tables stay too. Raises
        `Unavailable` when another process keeps reading the file; call it again then.
        """
        wanted = phrases(texts)
        with self._writing():
            changed, own = [], 0
            with sqlite.transaction(self._connection):
                for key, text in sqlite.rows(self._connection, "select id, data from event"):
                    data = parse_data(text)
                    blank = redacted(data, wanted) if may_quote(data) else data
                    if blank != data:
                        changed.append((json.dumps(blank), key))
                        own += data.get("agent") == agent
                if changed:
                    self._connection.executemany("update event set data = ? where id = ?", changed)
                    projections.rebuild(self._connection, self._scoring)
            sqlite.erase(self._connection)
        return own

    def erase(self) -> None:
        """Remove deleted rows from the bytes of the file. Raises `Unavailable` as `redact`."""
        with self._writing():
            sqlite.erase(self._connection)

    def rename_vault(self, before: str, after: str) -> None:
        """Replace the id of a vault in all events, and so in the names of its memories."""
        with self._writing(), sqlite.transaction(self._connection):
            self._connection.execute(
                "update event set subject = replace(subject, ?1, ?2), data = replace(data, ?1, ?2) "
                "where instr(subject, ?1) or instr(data, ?1)",
                (before, after),
            )
            projections.rebuild(self._connection, self._scoring)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[sqlite.Row]:
        """The rows of a query. For use by `reading`."""
        if file_id(self._path) != self._file_id:
            with self._locked():
                self._reopen()
        with self._waiting():
            return sqlite.rows(self._connection, sql, values)

    def latest(self, noun: str) -> list[Event]:
        """The last event of each subject whose kind begins with `noun`, oldest first."""
        events = self.rows(
            "select kind, subject, data, at, max(id) as last from event "
            "where kind >= ?1 || '.' and kind < ?1 || '/' group by subject order by last",
            (noun,),
        )
        return [Event(kind, subject, parse_data(data), at) for kind, subject, data, at, _ in events]

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _reopen(self) -> None:
        """Open the new file if a recovery has replaced the current one; see `salvage`."""
        if file_id(self._path) != self._file_id:
            self._connection.close()
            self._connect()

    def _connect(self) -> None:
        path = self._path
        before = file_id(path)
        if _writable(path):
            missing = Unavailable(f"{path} cannot be created")
            self._connection = sqlite.connect_or_read(self._open, path, missing)
        else:
            self._connection = self._open(write=False)
        self._file_id = before or file_id(path)

    def _open(self, write: bool) -> apsw.Connection:
        connection = sqlite.connect(self._path, SCHEMA, write=write)
        if write and not projections.current(connection, self._scoring):
            with sqlite.transaction(connection):
                projections.renew(connection, self._scoring)
        return connection

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Lock out other writers of the ledger, and use the file that is at the path now."""
        with self._locked():
            self._reopen()
            if sqlite.read_only(self._connection) and _writable(self._path):
                # The disk was full, and may have room again.
                connection = self._open(write=True)
                self._connection.close()
                self._connection = connection
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Prevent other processes from opening or writing the ledger."""
        with ExitStack() as stack:
            with self._waiting(forgets=False):
                stack.enter_context(_write_lock(self._path))
            # Anew: it may have taken long, and many, until the lock was free.
            with self._waiting():
                yield

    @contextmanager
    def _waiting(self, *, forgets: bool = True) -> Iterator[None]:
        """Limit waits for other processes, and add remedies to SQLite's errors."""
        try:
            with self._patience.waiting(HELD_SECONDS, forgets=forgets):
                yield
        except (sqlite.DamagedDatabase, apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
            # Not `DamagedDatabase`: a ledger cannot be set aside and made anew like an index.
            raise Unavailable(
                f"{self._path} is damaged, and the notes cannot restore it", sqlite.REPAIR
            ) from None
        except apsw.BusyError:
            raise in_use(self._path) from None
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError):
            raise Unavailable(
                f"{self._path} cannot be used; check the disk and the file's permissions"
            ) from None


class ReadOnlyLedger(Ledger):
    """A ledger that accepts only audit events."""

    def append(self, events: Iterable[Event], *, durable: bool = True) -> None:
        """As `Ledger.append`; `Unavailable` for any event but an audit."""
        events = list(events)
        # Who asked what is recorded even where nothing else is written.
        if any(event.kind != TOOL_CALLED for event in events):
            raise Unavailable(_READ_ONLY)
        super().append(events, durable=durable)

    def change(self, statements: Iterable[Statement]) -> None:
        """Raises `Unavailable`."""
        raise Unavailable(_READ_ONLY)

    def take_in(self, events: Sequence[StoredEvent]) -> int:
        """Raises `Unavailable`."""
        raise Unavailable(_READ_ONLY)


def ledger_lock(path: Path, timeout: float = 30) -> AbstractContextManager[object]:
    """Prevent other processes from opening or writing the ledger at `path`."""
    return lock(path.with_suffix(".lock"), timeout=timeout)


def _write_lock(path: Path) -> AbstractContextManager[object]:
    return ledger_lock(path, time_left()) if _writable(path) else nullcontext()


def _writable(path: Path) -> bool:
    # In WAL mode a writer creates files beside the database.
    return all(os.access(place, os.W_OK) for place in (path, path.parent) if place.exists())


@contextmanager
def _without_sync(connection: apsw.Connection) -> Iterator[None]:
    """Commit without waiting for the disk. The next durable commit makes these commits durable."""
    connection.pragma("synchronous", "normal")
    try:
        yield
    finally:
        connection.pragma("synchronous", "full")
