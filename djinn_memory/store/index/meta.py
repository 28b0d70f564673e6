"""Metadata of the index: the versions that built it, and the identity of its vectors."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from djinn_memory.store.sqlite import rows

UNCOMPARED = "uncompared"
"""The key under which the index stores the notes that are not compared with others yet."""

MOST_UNCOMPARED = 64
"""The newest of these are compared soon. The job `duplicates` compares all notes."""


def get(connection: apsw.Connection, key: str) -> str | None:
    """The value of `key`, or None."""
    value: str | None = connection.execute("select value from meta where key = ?", (key,)).get
    return value


def put(connection: apsw.Connection, key: str, value: str) -> None:
    """Write a value, replacing any earlier one."""
    connection.execute("insert or replace into meta values (?, ?)", (key, value))


def uncompared(connection: apsw.Connection) -> list[tuple[int, str, str]]:
    """The notes that were read by themselves and not compared since: number, vault id and path."""
    return rows(
        connection,
        "select note.id, uuid, path from note join vault on vault.id = vault_id "
        # A cloned index may hold anything.
        "where note.id in (select value from json_each(iif(json_valid(?1), ?1, '[]')))",
        (get(connection, UNCOMPARED) or "[]",),
    )


def mark_uncompared(
    connection: apsw.Connection, new: Collection[int], done: Collection[int] = ()
) -> None:
    """Add numbers of notes to those of `uncompared`, and remove others.

    Numbers keep no name of a note that is purged.
    """
    listed = [number for number, _, _ in uncompared(connection) if number not in {*new, *done}]
    connection.execute("delete from meta where key = ?", (UNCOMPARED,))
    if listed or new:
        put(connection, UNCOMPARED, json.dumps([*listed, *new][-MOST_UNCOMPARED:]))
