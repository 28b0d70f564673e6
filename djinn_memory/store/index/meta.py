"""Metadata of the index: the versions that built it, and the identity of its vectors."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

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


def uncompared(connection: apsw.Connection) -> list[tuple[str, str]]:
    """The notes that were read by themselves and not compared since: vault id and path."""
    return [(vault, path) for vault, path in json.loads(get(connection, UNCOMPARED) or "[]")]


def mark_uncompared(
    connection: apsw.Connection,
    new: Collection[tuple[str, str]],
    done: Collection[tuple[str, str]] = (),
) -> None:
    """Add notes to those of `uncompared`, and remove others."""
    listed = [note for note in uncompared(connection) if note not in {*new, *done}]
    put(connection, UNCOMPARED, json.dumps([*listed, *new][-MOST_UNCOMPARED:]))
