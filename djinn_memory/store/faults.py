"""Finds faults in databases without changing them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from djinn_memory.errors import Refused
from djinn_memory.store import sqlite


def fault(path: Path, schema: sqlite.Schema, *, thorough: bool = False) -> str | None:
    """The reason why a file is unusable as a database of `schema`, or None.

    A missing file, a newer version or a lock is not a fault. `thorough` also compares the indexes
    of the file with its tables. No file is created beside it.
    """
    if sqlite.not_a_file(path):
        return "is not a file"
    log = Path(f"{path}-wal")
    unwritten = not log.exists()
    problem = _fault(path, schema, thorough, unwritten)
    if problem and unwritten and log.exists():
        # A writer began while the file was read as if there was none.
        return _fault(path, schema, thorough, False)
    return problem


def _fault(path: Path, schema: sqlite.Schema, thorough: bool, unwritten: bool) -> str | None:
    try:
        with closing(sqlite.peek(path) if unwritten else sqlite.reader(path)) as connection:
            try:
                sqlite.recognise(connection, path, schema)
            except Refused:
                return None
            except sqlite.ForeignDatabase:
                return "was not created by djinn"
            check = "integrity_check(1)" if thorough else "quick_check(1)"
            result = str(connection.execute(f"pragma {check}").get)
            if result != "ok":
                return f"is damaged ({' '.join(result.split())})"
            _ask_word_tables(connection)
            # Another process may be making the tables: all must be of one version.
            with sqlite.snapshot(connection):
                lacking = _lacking(connection, schema)
            return f"is damaged (it lacks {lacking})" if lacking else None
    except (apsw.NotADBError, apsw.CorruptError, UnicodeDecodeError):
        return "is damaged"
    except apsw.SQLError as error:
        # The definition of a table is a text in the file, too.
        return f"is damaged ({' '.join(str(error).split())})"
    except apsw.Error:
        return None


def _ask_word_tables(connection: apsw.Connection) -> None:
    """Run a query on each word table, because a tokenizer is loaded only for a match.

    Raises `apsw.SQLError` when a tokenizer cannot be loaded.
    """
    named = "select name from sqlite_schema where sql like 'create virtual table % using fts5(%'"
    for (name,) in connection.execute(named).fetchall():
        connection.execute(f'select 1 from "{name}" where "{name}" match ? limit 1', ("a",))


def newer_database(path: Path, schema: sqlite.Schema) -> int | None:
    """The version of a database that a newer djinn created; None for every other file."""
    try:
        with closing(sqlite.peek(path)) as connection:
            version: int = connection.pragma("user_version")
            ours = connection.pragma("application_id") == schema.application
    except apsw.Error:
        return None
    return version if ours and version > schema.newest else None


def _lacking(connection: apsw.Connection, schema: sqlite.Schema) -> str | None:
    """A table or column that is in the scripts but not in the file."""
    version = connection.pragma("user_version")
    with closing(apsw.Connection(":memory:")) as model:
        for number, script in sorted(schema.numbered.items()):
            if number <= version:
                model.execute(script.read_text(encoding="utf-8"))
        wanted = _columns(model)
    return min(wanted - _columns(connection), default=None)


def _columns(connection: apsw.Connection) -> set[str]:
    columns = connection.execute(
        "select s.name || '.' || i.name from sqlite_schema as s, pragma_table_info(s.name) as i "
        "where s.type = 'table' and s.sql not like 'create virtual table%'"
    )
    return {name for (name,) in columns}
