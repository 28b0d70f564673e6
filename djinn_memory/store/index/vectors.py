"""The meaning leg: sqlite-vec over windows, partitioned by vault so that none starves another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw

from djinn_memory.store.index import meta

MAX_NEIGHBOURS = 4096
"""The most that vec0 gives for one query."""


def space(connection: apsw.Connection) -> str | None:
    """The identity of the vectors in the index; None while there are none."""
    return meta.get(connection, "identity")


def make_space(connection: apsw.Connection, identity: str, dimensions: int) -> None:
    """Begin anew with vectors of `identity`: every window waits for one again."""
    connection.execute("drop table if exists vectors")
    connection.execute(
        "create virtual table vectors using vec0("
        "window_id integer primary key, vault_id integer partition key, "
        f"embedding float[{dimensions}] distance_metric=cosine)"
    )
    connection.execute("update window set embedded = 0")
    meta.put(connection, "identity", identity)


def add(connection: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Store the vectors of (window id, float32 bytes); a window that is gone is passed over."""
    for window_id, vector in rows:
        vault_id = connection.execute(
            "select note.vault_id from window join chunk on chunk.id = window.chunk_id "
            "join memory on memory.id = chunk.memory_id join note on note.id = memory.note_id "
            "where window.id = ? and not window.embedded",
            (window_id,),
        ).get
        if vault_id is not None:
            connection.execute(
                "insert into vectors values (?, ?, ?)", (window_id, vault_id, vector)
            )
            connection.execute("update window set embedded = 1 where id = ?", (window_id,))


def remove(connection: apsw.Connection, window_ids: Sequence[int]) -> None:
    """Forget vectors."""
    if space(connection):
        connection.executemany(
            "delete from vectors where window_id = ?", [(key,) for key in window_ids]
        )


def pending(connection: apsw.Connection, vault_ids: Iterable[int]) -> int:
    """How many windows of these vaults wait for a vector."""
    count: int = connection.execute(
        "select count(*) from window join chunk on chunk.id = chunk_id "
        "join memory on memory.id = memory_id join note on note.id = note_id "
        "where not embedded and vault_id in (select value from json_each(?))",
        (json.dumps(list(vault_ids)),),
    ).get
    return count


def nearest(
    connection: apsw.Connection,
    query: bytes,
    vault_id: int,
    limit: int,
    *,
    restrict: tuple[str, Sequence[object]] | None = None,
) -> list[int]:
    """The windows of a vault nearest to `query` by cosine, best first, exact.

    `restrict` is a condition over note, memory and chunk, with its values, on the answer.
    """
    sql = "select window_id from vectors where embedding match ? and k = ? and vault_id = ?"
    values: Sequence[object] = ()
    if restrict:
        where, values = restrict
        sql += (
            " and window_id in (select window.id from window join chunk on chunk.id = chunk_id "
            "join memory on memory.id = memory_id join note on note.id = note_id "
            f"where {where})"
        )
    found = connection.execute(
        f"{sql} order by distance", (query, min(limit, MAX_NEIGHBOURS), vault_id, *values)
    )
    return [window_id for (window_id,) in found]


def of_chunks(
    connection: apsw.Connection, chunk_ids: Sequence[int]
) -> list[tuple[int, int, bytes]]:
    """Every vector of the given chunks: (chunk id, window id, float32 bytes)."""
    windows = dict(
        connection.execute(
            "select id, chunk_id from window where embedded "
            "and chunk_id in (select value from json_each(?))",
            (json.dumps(list(chunk_ids)),),
        )
    )
    rows = connection.execute(
        "select window_id, embedding from vectors "
        "where window_id in (select value from json_each(?))",
        (json.dumps(list(windows)),),
    )
    return [(windows[window], window, vector) for window, vector in rows]
