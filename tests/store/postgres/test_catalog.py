"""The rules that let Citus distribute the tables by scope, read from the server's catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.store.postgres import catalog, migrations
from djinn_memory.store.postgres.connection import ServerAddress, connect

STORE = Path(migrations.__file__).parent


@pytest.fixture
def cursor(database: ServerAddress) -> Iterator[Any]:
    with closing(connect(database)) as connection, connection.cursor() as cursor:
        yield cursor


def rows(cursor: Any, sql: str) -> Any:
    return cursor.execute(sql.encode()).fetchall()


OURS = "c.relnamespace = current_schema()::regnamespace"


def test_every_table_has_a_scope_or_is_known_to_have_none(cursor: Any) -> None:
    tables = {name for (name,) in rows(cursor, f"select relname from pg_class c where {OURS} "
                                                "and relkind in ('r', 'p')")}  # fmt: skip
    assert tables == {*catalog.scoped_tables(cursor), *catalog.UNSCOPED}


def test_the_scope_is_the_first_column(cursor: Any) -> None:
    firsts = rows(
        cursor,
        "select relname, attname, atttypid::regtype::text, attnotnull from pg_class c "
        f"join pg_attribute on attrelid = c.oid where {OURS} and relkind in ('r', 'p') "
        "and attnum = 1",
    )
    scoped = {row[0]: row[1:] for row in firsts if row[0] not in catalog.UNSCOPED}
    assert set(scoped.values()) == {("user_id", "uuid", True)}


def test_every_unique_key_begins_with_the_scope(cursor: Any) -> None:
    keys = rows(
        cursor,
        "select c.relname, i.relname, indisprimary, attname from pg_index "
        "join pg_class c on c.oid = indrelid join pg_class i on i.oid = indexrelid "
        f"left join pg_attribute on attrelid = c.oid and attnum = indkey[0] where {OURS} "
        "and (indisunique or indisexclusion)",
    )
    scoped = [key for key in keys if key[0] not in catalog.UNSCOPED]
    assert {key[3] for key in scoped} == {"user_id"}
    assert {key[0] for key in scoped if key[2]} == {*catalog.scoped_tables(cursor)}


def test_no_foreign_key_crosses_scopes(cursor: Any) -> None:
    keys = rows(
        cursor,
        "select c.relname, f.relname, a.attname, b.attname, confdeltype from pg_constraint "
        "join pg_class c on c.oid = conrelid join pg_class f on f.oid = confrelid "
        "join pg_attribute a on a.attrelid = conrelid and a.attnum = conkey[1] "
        "join pg_attribute b on b.attrelid = confrelid and b.attnum = confkey[1] "
        f"where contype = 'f' and {OURS}",
    )
    assert keys
    # Citus sets no column of a key to null when a row is deleted.
    assert {(key[2], key[3], key[4] in "acr") for key in keys} == {("user_id", "user_id", True)}


def test_every_table_goes_with_its_scope(cursor: Any) -> None:
    cascades = rows(
        cursor,
        "select c.relname, f.relname from pg_constraint join pg_class c on c.oid = conrelid "
        "join pg_class f on f.oid = confrelid where contype = 'f' and confdeltype = 'c' "
        f"and {OURS}",
    )
    gone = {"scopes"}
    while more := {table for table, other in cascades if other in gone} - gone:
        gone |= more
    assert gone == {*catalog.scoped_tables(cursor)}


def test_nothing_counts_over_scopes(cursor: Any) -> None:
    assert rows(cursor, f"select relname from pg_class c where {OURS} and relkind = 'S'") == []
    assert rows(
        cursor,
        f"select relname from pg_class c join pg_attribute on attrelid = c.oid where {OURS} "
        "and attidentity <> ''",
    ) == []  # fmt: skip


def test_there_are_no_triggers_rules_or_views(cursor: Any) -> None:
    assert rows(
        cursor,
        "select tgname from pg_trigger join pg_class c on c.oid = tgrelid "
        f"where {OURS} and not tgisinternal",
    ) == []  # fmt: skip
    assert rows(
        cursor,
        f"select relname, relkind from pg_class c where {OURS} and relkind not in ('r', 'i')",
    ) == []  # fmt: skip


def test_tables_are_listed_after_those_that_they_refer_to(cursor: Any) -> None:
    tables = catalog.scoped_tables(cursor)
    assert tables[0] == "scopes" and tables.index("notes") < tables.index("memory_facts")
    cursor.execute(catalog.DEPENDENCIES.encode())
    for table, other in cursor:
        assert tables.index(other) < tables.index(table)


LASTING = re.compile(
    r"\bset (?:session )?([\w.]+) *(?:=|to\b)"
    r"|\b(concurrently|create trigger|pg_advisory_lock)\b",
    re.IGNORECASE,
)
"""Statements that outlast their transaction. Poolers and workers of a cluster do not see them."""


def test_no_statement_sets_anything_for_a_session(cursor: Any) -> None:
    settings = {name for (name,) in rows(cursor, "select name from pg_settings")}
    hits = [
        f"{path.name}: {match[0]}"
        for path in sorted(STORE.rglob("*"))
        if path.suffix in (".py", ".sql")
        for match in LASTING.finditer(path.read_text(encoding="utf-8"))
        if match[2] or match[1] in settings
    ]
    assert hits == []
    assert LASTING.search("set search_path = x")
    assert not LASTING.search("set local search_path = x")
