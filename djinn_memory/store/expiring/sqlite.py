"""Working memory in a file of the home's state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from msgspec.structs import asdict

from djinn_memory.errors import Unavailable
from djinn_memory.store.erasing import erase
from djinn_memory.store.expiring import Decide, StoreUnwritable, WorkingEntry, WorkingSlot, entry
from djinn_memory.store.sqlite import (
    DamagedDatabase,
    DiskFull,
    Schema,
    connect,
    explained,
    rows,
    transaction,
)
from djinn_memory.system.files import file_id

SCHEMA = Schema(
    Path(__file__).parent / "schema",
    application=0x646A6E57,
    marked=1,
    tables=frozenset({"entry"}),
)

_FIELDS = WorkingEntry.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_PUT = (
    f"insert or replace into entry ({_COLUMNS}, kept) "
    f"values ({', '.join(f':{field}' for field in _FIELDS)}, :kept)"
)
_SLOT = "agent = ? and space = ? and name = ? and key = ?"


class SqliteWorkingStore:
    """A working memory that is read even where it cannot be written. Opened at the first use."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._opened: apsw.Connection | None = None
        self._place: tuple[int, int] | None = None

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """See `WorkingStore`."""
        connection = self._connection()
        if connection.readonly("main"):
            raise StoreUnwritable(f"{self._path} cannot be written; check its permissions")
        with _understood(self._path), transaction(connection):
            now = self._clock()
            connection.execute("delete from entry where kept <= ?", (now,))
            found = self._entries(connection, _SLOT, (slot.agent, slot.space, slot.name, slot.key))
            before = found[0] if found else None
            after = decide(before, now)
            if after is None:
                connection.execute(
                    f"delete from entry where {_SLOT}",
                    (slot.agent, slot.space, slot.name, slot.key),
                )
            elif after != before:
                connection.execute(_PUT, {**asdict(after), "kept": after.kept})
        return before, after

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`; where there is no file none is made."""
        now = self._clock()
        if not self._path.exists():
            return [], now
        with _understood(self._path):
            where = "agent = ? and kept > ? order by created, key"
            return self._entries(self._connection(), where, (agent, now)), now

    def erase(self) -> None:
        """See `WorkingStore`."""
        if self._path.exists():
            erase(self._connection())

    def close(self) -> None:
        """Release the file."""
        if self._opened:
            self._opened.close()
        self._opened = None

    def _entries(
        self, connection: apsw.Connection, where: str, values: tuple[object, ...]
    ) -> list[WorkingEntry]:
        found = rows(connection, f"select {_COLUMNS} from entry where {where}", values)
        read = (entry(dict(zip(_FIELDS, row, strict=True))) for row in found)
        return [one for one in read if one]

    def _connection(self) -> apsw.Connection:
        if self._opened and file_id(self._path) != self._place:
            # It was set aside as damaged, by another process.
            self.close()
        if self._opened is None:
            before = file_id(self._path)
            self._opened = self._open()
            self._place = before or file_id(self._path)
        return self._opened

    def _open(self) -> apsw.Connection:
        try:
            return connect(self._path, SCHEMA)
        except (DamagedDatabase, DiskFull):
            raise
        except (Unavailable, OSError):
            if not self._path.exists():
                raise Unavailable(
                    f"{self._path} cannot be made; check the folder's permissions, "
                    "or set state_dir in config.yaml"
                ) from None
            return connect(self._path, SCHEMA, write=False)


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """A table that is not as it was made is a damaged file, and no fault of the program."""
    try:
        with explained(path):
            yield
    except DiskFull as error:
        raise StoreUnwritable(str(error)) from None
    except (apsw.SQLError, UnicodeDecodeError):
        raise DamagedDatabase(f"{path} is damaged; run `djinn doctor --fix`") from None
