"""The index: derived from the vaults, and rebuilt at any time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from djinn_memory.store import faults, sqlite
from djinn_memory.store.index import memory_rows, vectors, words
from djinn_memory.store.sqlite import Schema, connect, load_vectors
from djinn_memory.system.plural import count


def _mend(connection: apsw.Connection) -> None:
    """Finish a migration with steps that SQL scripts cannot do."""
    vectors.mend(connection)
    memory_rows.index_words(connection)
    memory_rows.write_names(connection)


SCHEMA = Schema(
    Path(__file__).parent / "schema",
    application=0x646A6E49,
    marked=5,
    tables=frozenset({"meta", "vault", "note", "memory", "chunk", "window", "link"}),
    finish=_mend,
)


def open_index(path: Path, *, write: bool = True) -> apsw.Connection:
    """Open the index at `path`.

    `write` creates or migrates it; errors as `store.sqlite.connect`.
    """
    return connect(path, SCHEMA, write=write, prepare=load_vectors)


def fault(path: Path) -> str | None:
    """The reason why a file is unusable as an index, or None.

    Checks what `store.faults.fault` checks, then whether the tables match each other.
    """
    damage = faults.fault(path, SCHEMA)
    if damage or not path.is_file():
        return damage
    try:
        with closing(sqlite.peek(path)) as connection:
            if connection.pragma("user_version") != SCHEMA.newest:
                return None
            load_vectors(connection)
            with sqlite.snapshot(connection):
                disorder = next(_disorder(connection), None)
    except (apsw.SQLError, apsw.CorruptError, UnicodeDecodeError) as error:
        disorder = str(error)
    except apsw.Error:
        return None
    return f"is damaged ({disorder})" if disorder else None


def _disorder(connection: apsw.Connection) -> Iterator[str]:
    if connection.execute("pragma foreign_key_check").get:
        yield "some of its rows have no parent row"
    for table in ("vault", "note", "memory", "tag", "alias", "field", "chunk", "link"):
        for _ in connection.execute(f"select * from {table}"):
            pass  # Text that is not UTF-8 shows when it is read.
    for compartment, chunks in sqlite.rows(
        connection,
        "select cast(ifnull(in_compartment, 0) as integer), count(*) from chunk group by 1",
    ):
        indexed = words.chunk_count(connection, compartment)
        if chunks != indexed:
            yield f"it contains the words of {count(indexed, 'chunk')} but the texts of {chunks:,}"
    for space in vectors.spaces(connection):
        mark, table = ("embedded" if space.serving else "coming"), f"vectors_{space.number}"
        marked = connection.execute(f"select count(*) from window where {mark}").get
        held, matched = sqlite.rows(
            connection,
            f"select count(*), count(window.id) from {table} "
            f"left join window on window.id = window_id and {mark}",
        )[0]
        if not marked == matched == held:
            yield f"it has {count(held, 'vector')} for {count(marked, 'window')}"
        # Damage inside the table shows only when it is read.
        connection.execute(f"select max(length(embedding)) from {table}").get  # noqa: B018
