"""Metadata of the index: the versions that built it, and the identity of its vectors."""

from __future__ import annotations

import apsw


def get(connection: apsw.Connection, key: str) -> str | None:
    """The value of `key`, or None."""
    value: str | None = connection.execute("select value from meta where key = ?", (key,)).get
    return value


def put(connection: apsw.Connection, key: str, value: str) -> None:
    """Write a value, replacing any earlier one."""
    connection.execute("insert or replace into meta values (?, ?)", (key, value))
