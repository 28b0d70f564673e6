"""Working memory in a file in the home's state folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from msgspec.structs import asdict

from djinn_memory.errors import Unavailable
from djinn_memory.store import sqlite
from djinn_memory.store.expiring import Decide, StoreUnwritable, WorkingEntry, WorkingSlot, entry
from djinn_memory.system.files import file_id

SCHEMA = sqlite.Schema(
    Path(__file__).parent / "schema", application=0x646A6E57, marked=1, tables=frozenset({"entry"})
)

_FIELDS = WorkingEntry.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_PUT = (
    f"insert or replace into entry ({_COLUMNS}, kept) "
    f"values ({', '.join(f':{field}' for field in _FIELDS)}, :kept)"
)
_SLOT = "agent = ? and space = ? and name = ? and key = ?"


class SqliteWorkingStore:
    """A working memory in a file that is opened at first use. It works on a read-only disk."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._open_connection: apsw.Connection | None = None
        self._file_id: tuple[int, int] | None = None

    def change(
        self, slot: WorkingSlot, decide: Decide
    ) -> tuple[WorkingEntry | None, WorkingEntry | None]:
        """See `WorkingStore`."""
        connection = self._connection()
        if sqlite.read_only(connection):
            raise StoreUnwritable(f"{self._path} cannot be written; check its permissions")
        address = (slot.agent, slot.space, slot.name, slot.key)
        with _explained(self._path), sqlite.transaction(connection):
            now = self._clock()
            connection.execute("delete from entry where kept <= ?", (now,))
            before = next(iter(_select(connection, _SLOT, address)), None)
            after = decide(before, now)
            if after is None:
                connection.execute(f"delete from entry where {_SLOT}", address)
            elif after != before:
                connection.execute(_PUT, {**asdict(after), "kept": after.kept_until})
        return before, after

    def entries(self, agent: str) -> tuple[list[WorkingEntry], float]:
        """See `WorkingStore`. A missing file is not created."""
        now = self._clock()
        if not self._path.exists():
            return [], now
        with _explained(self._path):
            where = "agent = ? and kept > ? order by created, key"
            return _select(self._connection(), where, (agent, now)), now

    def erase(self) -> None:
        """See `WorkingStore`."""
        if self._path.exists():
            sqlite.erase(self._connection())

    def close(self) -> None:
        """Release the file."""
        if self._open_connection:
            self._open_connection.close()
        self._open_connection = None

    def _connection(self) -> apsw.Connection:
        if self._open_connection and file_id(self._path) != self._file_id:
            # Another process has set the file aside as damaged.
            self.close()
        if self._open_connection is None:
            before = file_id(self._path)
            missing = Unavailable(
                f"{self._path} cannot be created; check the folder's permissions, "
                "or set state_dir in config.yaml"
            )
            self._open_connection = sqlite.connect_or_read(
                lambda write: sqlite.connect(self._path, SCHEMA, write=write), self._path, missing
            )
            self._file_id = before or file_id(self._path)
        return self._open_connection


def _select(
    connection: apsw.Connection, where: str, values: tuple[object, ...]
) -> list[WorkingEntry]:
    entries = sqlite.rows(connection, f"select {_COLUMNS} from entry where {where}", values)
    return list(filter(None, (entry(dict(zip(_FIELDS, row, strict=True))) for row in entries)))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """As `explained`, but a table with a wrong structure means a damaged file, not a djinn bug."""
    try:
        with sqlite.explained(path):
            yield
    except sqlite.DiskFull as error:
        raise StoreUnwritable(str(error)) from None
    except (apsw.SQLError, UnicodeDecodeError):
        raise sqlite.DamagedDatabase(f"{path} is damaged", sqlite.REPAIR) from None
