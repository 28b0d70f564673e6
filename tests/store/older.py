"""Databases as earlier versions of djinn left them, made from those of today."""

from __future__ import annotations

from pathlib import Path

import apsw

from djinn_memory.store.sqlite import Schema, load_vectors

REPLACED = {
    "block": "select note_id, uuid from now.block join now.memory on memory.id = memory_id",
}
"""How the rows of a table are read that had other columns before."""

MOVED = {
    ("vault", "languages"): "(select languages from now.compartment where vault_id = vault.id)",
    ("chunk", "in_vault"): "in_compartment",
}
"""How a column is read that stands elsewhere now."""


def older(newest: Path, target: Path, schema: Schema, version: int) -> None:
    """Write what `newest` holds into a database of an earlier version."""
    connection = apsw.Connection(str(target))
    load_vectors(connection)
    connection.pragma("journal_mode", "wal")
    for number in range(1, version + 1):
        connection.execute(schema.numbered[number].read_text(encoding="utf-8"))
    connection.execute("attach ? as now", (str(newest),))
    tables = connection.execute(
        "select name from sqlite_schema where type = 'table' and sql not like 'create virtual%' "
        "and name not like 'sqlite_%' and name not like 'words_%'"
    ).fetchall()
    for (table,) in tables:
        listed = [name for _, name in columns(connection, table)]
        names = ", ".join(listed)
        sources = ", ".join(MOVED.get((table, name), name) for name in listed)
        connection.execute(f"delete from main.{table}")
        source = REPLACED.get(table, f"select {sources} from now.{table}")
        connection.execute(f"insert into main.{table} ({names}) {source}")
    if "window" in {name for (name,) in tables}:
        _vectors(connection, version)
    connection.pragma("user_version", version)
    connection.execute("detach now")
    connection.close()


def columns(connection: apsw.Connection, table: str) -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in connection.execute(f"pragma main.table_info({table})")]


def _vectors(connection: apsw.Connection, version: int) -> None:
    # The first version had the vectors of one model, under one name.
    name = "vectors" if version == 1 else "vectors_1"
    connection.execute(
        f"create virtual table main.{name} using vec0(window_id integer primary key, "
        "vault_id integer partition key, embedding float[128] distance_metric=cosine)"
    )
    connection.execute(
        f"insert into main.{name} (window_id, vault_id, embedding) "
        "select window_id, compartment_id, embedding from now.vectors_1"
    )
    if version == 1:
        connection.execute("insert into main.meta values ('identity', 'hashing-128-1')")
