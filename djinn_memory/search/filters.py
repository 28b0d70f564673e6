"""Filters as SQL over the index's note and memory rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from djinn_memory.models import Filters
from djinn_memory.notes.dates import over
from djinn_memory.notes.slugs import fold
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    import apsw

_IN_PATH = "instr(note.folded, ?) > 0"

Condition = tuple[str, list[object]]


def condition(filters: Filters, vault_ids: Iterable[int]) -> Condition:
    """A boolean SQL expression over `note` and `memory`, and its bound values.

    Several tags must all be there, also as the upper part of a nested one; several types, planes
    or paths are alternatives.
    """
    parts: list[str] = []
    values: list[object] = []

    def add(sql: str, *bound: object) -> None:
        parts.append(sql)
        # Bytes of the command line that are no text come as lone surrogates: they match nothing.
        values.extend(
            value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for value in bound
        )

    ids = list(vault_ids)
    add(f"note.vault_id in ({_marks(ids)})", *ids)
    if filters.types:
        add(f"memory.type in ({_marks(filters.types)})", *map(fold, filters.types))
    if filters.planes:
        add(f"memory.plane in ({_marks(filters.planes)})", *filters.planes)
    for tag in filters.tags:
        add(*_has_tag(tag))
    if filters.paths:
        add(f"({' or '.join([_IN_PATH] * len(filters.paths))})", *map(fold, filters.paths))
    for key, value in filters.excluded:
        if key == "tag":
            sql, *bound = _has_tag(value)
            add(f"not {sql}", *bound)
        elif key == "type":
            add("memory.type is not ?", fold(value))
        else:
            add(f"not {_IN_PATH}", fold(value))
    if filters.since:
        add("memory.date >= ?", filters.since)
    if filters.until:
        # A day includes its hours: `2026-03-04T09:00` sorts behind `2026-03-04`.
        add("memory.date < ?", f"{filters.until}~")
    for key, value in filters.where:
        add(
            "exists (select 1 from field where field.memory_id = memory.id "
            "and key = ? and folded = ?)",
            fold(key),
            fold(value),
        )
    if filters.expired:
        add(
            "memory.id not in (select memory_id from field where key = 'expires' "
            "and folded in (select value from json_each(?)))",
            json.dumps(filters.expired),
        )
    return " and ".join(parts), values


def valid(connection: apsw.Connection, filters: Filters, now: datetime) -> Filters:
    """`filters` that leave out what has expired by `now`, where anything has.

    A memory that expires on a day holds until the day is over, in UTC.
    """
    # Not by comparing in SQL, which would need rules of its own for what is a date.
    said = rows(connection, "select distinct folded from field where key = 'expires'")
    return replace(filters, expired=tuple(text for (text,) in said if over(text.upper(), now)))


def _has_tag(tag: str) -> tuple[str, str, int, str]:
    folded = fold(tag.lstrip("#").rstrip("/"))
    sql = (
        "exists (select 1 from tag where tag.memory_id = memory.id "
        "and (folded = ? or substr(folded, 1, ?) = ?))"
    )
    return sql, folded, len(folded) + 1, f"{folded}/"


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
